# SPDX-License-Identifier: Apache-2.0
# A public header as of a later release: every struct that begins with its size has one more field.
/^typedef struct/ { sized = 0 }
/^    size_t size;/ { sized = 1 }
/^} tulle_[a-z_]*;/ { if (sized) print "    int64_t added_later;"; sized = 0 }
{ print }
