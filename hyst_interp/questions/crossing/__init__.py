"""Where does content of one history suffice in the other, and where is it needed?"""
