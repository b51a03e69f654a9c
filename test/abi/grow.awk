# SPDX-License-Identifier: Apache-2.0
# A public header as of a later release: every struct that begins with its size has one more field.
/^} tulle_[a-z_]*;/ { if (sized) print "    int64_t added_later;"; sized = 0 }
first && !/^ *(\/\*| \*)/ { sized = /^    size_t size;/; first = 0 }
/^typedef struct/ { sized = 0; first = 1 }
{ print }
