"""How it came to be: exposure-matched schedules, frozen training states, advancing and forking them, convergence."""
