"""What is asked: trials whose two rules can be told apart, their twins, and the roles of their positions."""
