/* Lines of configuration files, and which of them count. */
#include "options/config.h"

#include <string.h>

#include "options/configrules.h"
#include "options/graphopts.h"
#include "options/optvalue.h"

static bool is_words(const struct opt_def *def)
{
	return def->value.apply == graphopts_apply;
}

/* Whether @line is about the option of @def, or about one that excludes it. */
static bool is_about(const struct config_line *line, const struct opt_def *def)
{
	const struct config_rule *rule = config_rule_of(def);

	return line->def == def || (rule->group && config_rule_of(line->def)->group == rule->group);
}

/* No later file overrides it, and no later line of its own turns a flag off. */
static bool is_in_force(const struct config *config, const struct config_line *line)
{
	if (line->is_off)
		return false;
	for (size_t i = 0; i < config->line_cnt && !is_words(line->def); i++) {
		const struct config_line *other = &config->lines[i];

		if (other->file > line->file && is_about(other, line->def))
			return false;
		if (other > line && other->is_off && other->def == line->def)
			return false;
	}
	return true;
}

/* Whether the option means anything for this command line, which does not have it. */
static bool suits(const struct opts *opts, const struct opt_def *def)
{
	const struct config_rule *rule = config_rule_of(def);

	if (!(def->verbs & 1u << opts->verb))
		return false;
	return !rule->suits || rule->suits(opts);
}

static void apply_line(const struct config_line *line, struct opts *opts)
{
	if (is_words(line->def)) {
		opts->has_columns = true;
		graphopts_apply_default(opts, line->text);
	} else {
		/* as on the command line: a flag, and an option without its optional value, have no text */
		optvalue_set(opts, line->def, line->text);
	}
}

void config_apply(const struct config *config, struct opts *opts)
{
	/* by the table: --for comes before what depends on the format, and lists are not cut short by themselves */
	for (size_t i = 0; i < config_rule_cnt; i++) {
		const struct config_line *line;
		bool is_first = true;

		for (size_t k = 0; k < config->line_cnt; k++) {
			line = &config->lines[k];
			if (strcmp(line->def->name, config_rules[i].name) != 0 ||
			    !is_in_force(config, line))
				continue;
			if (is_first &&
			    ((!is_words(line->def) && config_is_given(opts, line->def)) ||
			     !suits(opts, line->def)))
				break;
			is_first = false;
			if (!config_rules[i].suits_value ||
			    config_rules[i].suits_value(opts, line->text))
				apply_line(line, opts);
		}
	}
	graphopts_settle_defaults(opts);
}

void config_print(const struct config *config, const struct config_places *places,
		  struct strbuf *out)
{
	bool has_line = false;

	for (size_t i = 0; i < config->line_cnt; i++) {
		const struct config_line *line = &config->lines[i];

		if (!is_in_force(config, line))
			continue;
		strbuf_printf(out, "# %s:%u\n%s", config->paths[line->file], line->number,
			      line->def->name);
		if (line->text)
			strbuf_printf(out, " %s", line->text);
		strbuf_char(out, '\n');
		has_line = true;
	}
	if (has_line)
		return;
	strbuf_str(out, "# no defaults from files\n");
	for (size_t i = 0; i < sizeof(places->paths) / sizeof(places->paths[0]); i++) {
		if (*places->paths[i])
			strbuf_printf(out, "# looked for: %s\n", places->paths[i]);
	}
}
