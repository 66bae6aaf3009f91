"""How pictures look: the theme, panels, intervals, and the few forms that figures are made of. Nothing is computed."""
