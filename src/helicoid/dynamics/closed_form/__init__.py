"""M, C and g in closed form (Garofalo, Ott and Albu-Schäffer 2013), and their derivatives."""
