"""Where does the answer come from?"""
