#ifndef NFG_ATTACH_SCOPEBYTES_H
#define NFG_ATTACH_SCOPEBYTES_H

#include "attach/bpfobj.h"

/* The memory behind bpfobj_scope (bpfobj.h). All functions return 0 or -errno. */

/* scopebytes_configure - set the sizes of the maps, before they are created. */
int scopebytes_configure(const struct netfgraph_bpf *skel, const struct nfg_cfg *cfg);

/* scopebytes_map - map the memory that @obj's scope needs; scopebytes_unmap frees it, also after an error. */
int scopebytes_map(struct bpfobj *obj);
void scopebytes_unmap(struct bpfobj *obj);

#endif
