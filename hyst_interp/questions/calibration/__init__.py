"""What would other schedules have found?"""
