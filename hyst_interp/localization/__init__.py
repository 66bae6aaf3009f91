"""Where the memory is: which parameters, components, and connections carry the difference between two histories."""
