" What the kernel's function-graph-fold.vim makes of a trace: for each fold its first and its last
" line and the text shown for it, by tabs, in the file $FOLDS.
"
"	vim -N -u NONE -i NONE -es TRACE -S function-graph-fold.vim -S fold.vim
set nomore
let s:folds = []
" A fold begins in each line whose level is above that of the line before; one after the other is
" closed, innermost first, and asked for its extent.
setlocal foldenable foldminlines=0 foldnestmax=20
normal! zR
for s:line in range(line('$'), 1, -1)
	if getline(s:line)[-1:] !=# '{'
		continue
	endif
	execute s:line . 'foldclose'
	call insert(s:folds, foldclosed(s:line) . "\t" . foldclosedend(s:line) . "\t" . foldtextresult(s:line))
	if foldclosed(s:line) == s:line
		execute s:line . 'foldopen'
	endif
endfor
call writefile(s:folds, $FOLDS)
quitall!
