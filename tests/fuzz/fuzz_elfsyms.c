/* Programs and libraries that anybody may have made: read from memory and from a file, which must say the same. */
#include "fuzz.h"
#include "kernel/elfsyms.h"

static void check_same(const struct elfsyms *es, const struct elfsyms *other, uint64_t offset)
{
	struct elfsym syms[2];
	bool is_return = offset & 1;
	bool is_found = elfsyms_find(es, offset, is_return, &syms[0]);

	CHECK(is_found == elfsyms_find(other, offset, is_return, &syms[1]));
	if (!is_found)
		return;
	CHECK(syms[0].name.len && syms[0].name.len <= ELFSYM_NAME_MAX);
	CHECK(text_equal(syms[0].name, syms[1].name));
	CHECK(syms[0].offset == syms[1].offset && syms[0].size_bytes == syms[1].size_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *bytes = fuzz_string(data, len);
	struct elfsyms *from_file = NULL;
	struct elfsyms *es = NULL;
	int err = elfsyms_new_memory(&es, bytes, len);
	int fd = open(fuzz_file(data, len), O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && elfsyms_new(&from_file, fd) == err);
	close(fd);
	free(bytes); /* it is not kept */
	if (err)
		return 0;
	CHECK(elfsyms_build_id(es).len <= 128 && elfsyms_bytes(es) < len * 4 + (64 << 10));
	CHECK(text_equal(elfsyms_build_id(es), elfsyms_build_id(from_file)));
	for (uint64_t offset = 0; offset < 0x3000; offset += 7)
		check_same(es, from_file, offset);
	check_same(es, from_file, UINT64_MAX);
	elfsyms_free(es);
	elfsyms_free(from_file);
	return 0;
}
