LIB_EXT = ".so"
