"""The command line. One file per thing: arguments, what is installed, what conversions cost, tables, the picture."""
