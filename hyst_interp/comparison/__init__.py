"""How two histories differ: gap, relaxation, attenuation, topology. Pairs of networks in, labelled arrays out."""
