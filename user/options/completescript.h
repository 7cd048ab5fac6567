#ifndef NFG_OPTIONS_COMPLETESCRIPT_H
#define NFG_OPTIONS_COMPLETESCRIPT_H

#include "base/strbuf.h"

enum completescript_shell { COMPLETESCRIPT_BASH, COMPLETESCRIPT_ZSH, COMPLETESCRIPT_FISH };

/* completescript_shell_at - "bash", "zsh", "fish"; NULL after the last one. */
const char *completescript_shell_at(int i);

/* completescript_print - append the script that makes the shell use complete.h. */
void completescript_print(struct strbuf *out, enum completescript_shell shell);

#endif
