"""What every question needs: the pair, exchange between histories, replicates and tables of them, maps."""
