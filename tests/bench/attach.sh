# In a guest that counts instructions: how long attaching and detaching takes. Prints
# "attach MODE FUNCTIONS ATTACH_MS OWN_MS DETACH_MS". Arguments: MODE FUNCTIONS...
mode=$1
shift
set -f
funcs='-T tcp_* -T ip_* -T udp* -T sk* -T sock_* -T inet* -T dev_* -T netif_* -T neigh_* -T fib_* -T nf_* -T unix_*'
for cnt; do
	# shellcheck disable=SC2086
	netfgraph --wait-detach -v $funcs -T '__dev_*' -T '__net*' --max-funcs "$cnt" --attach "$mode" -o /dev/null true \
		>/dev/null 2>/tmp/err
	attach=$(sed -n 's/.* attached \([0-9]*\) functions in \([0-9]*\) ms (\([0-9]*\) in user space.*/\1 \2 \3/p' /tmp/err)
	detach=$(sed -n 's/.* detached [0-9]* functions in \([0-9]*\) ms.*/\1/p' /tmp/err)
	echo "attach $mode $attach $detach"
done
