"""Two histories head by head on one page with menus, for looking."""
