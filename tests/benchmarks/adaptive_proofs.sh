#!/usr/bin/env bash
# What results/h200 says of adaptive, measured anew: from the top of a checkout, on a GPU that does nothing else.
#
#     tests/benchmarks/adaptive_proofs.sh FOLDER PART...
#
# PART is one of
#     goals       rows and level profiles of the goals' graphs         adaptive-goals.csv, adaptive-goals.levels.csv
#     start OLD   twice in turns with the checkout in folder OLD       start-old-1.csv, start-new-1.csv, ...
#     regimes     Nsight Compute on each regime                        regimes.csv
#     sanitizers  memcheck and racecheck, all at once, 2 minutes       sanitizers/
#     endurance   1,000 random graphs, 2 graphs 10,000 times           endurance.txt
#     kronecker S levels and Graph500's benchmark at scale S           kronecker-S.csv, graph500-S-adaptive.csv and .txt
# The graphs that are files have been fetched; the others are made first, several at a time.
set -euo pipefail
(($# > 1)) || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 2; }
folder=$1
shift
mkdir -p "$folder"
here=tests/benchmarks plain=":self_loops=drop:duplicates=drop:symmetrised"
goals=(soc-Slashdot0902 dblp-2010 wave cnr-2000 'crawl(n=400000)' USA-road-d.FLA 'geometric(n=1000000,degree=12.6)'
    'lattice(rows=1400,columns=1400)' 'small_world(n=2000000)' 'lattice(rows=192,columns=192,depth=192,keep=1)'
    'kronecker(scale=20,edge_factor=48)' 'rmat(n=2097152,m=64000000,shuffle=1)' 'uniform(n=2000000,m=64000000)'
    'kronecker(scale=22)' 'lattice(rows=4096,columns=4096,keep=1)')
others=(soc-Slashdot0902 dblp-2010 wave USA-road-d.NY luxembourg_osm delaunay_n16 web-NotreDame soc-Epinions1
    p2p-Gnutella31 'kronecker(scale=18)' 'kronecker(scale=20,edge_factor=48)' 'uniform(n=2000000,m=64000000)')

made() { # GRAPH...: in the cache
    local load='import sys; from bfsbench.graphs.load import load; load(sys.argv[1])'
    printf '%s\n' "$@" | xargs -d '\n' -P 8 -I{} python3 -c "$load" "{}$plain"
}
rows() { # OUT GRAPH...
    local out=$1
    shift
    python3 -m bfsbench run --variant adaptive --sources 8 --repeats 5 --out "$out" "${@/#/--dataset=}"
}
sanitized() { # TOOL NAME OPTION...: beside the others, but started after them, as they do not start well together
    local tool=$1 out=$folder/sanitizers/$1-$2.txt
    shift 2
    python3 -m bfsbench run --sanitizer "$tool" --block "${block:-128}" --sources 2 "$@" >"$out" 2>&1 &
    sleep 1.2
}
sanitizers() {
    local graphs=--dataset='uniform(n=400,m=1600),kronecker(scale=8,edge_factor=8),lattice(rows=20,columns=20)'
    local grids=--dataset='lattice(rows=20,columns=20),lattice(rows=9,columns=9,depth=5)' tool
    mkdir -p "$folder/sanitizers"
    for tool in memcheck racecheck; do
        sanitized "$tool" pushed "$graphs" --variant adaptive --may-pull 0
        sanitized "$tool" pulled "$graphs" --variant adaptive --small-parts 8
        block=32 sanitized "$tool" crowded "$graphs" --variant adaptive --small-parts 0 --may-pull 0 --grid 16
        sanitized "$tool" growing "$graphs" --variant adaptive --small-parts 64 --may-pull 0
        sanitized "$tool" pairs "$graphs" --variant adaptive --small-parts 8 --cluster-size 2
        sanitized "$tool" listed "$graphs" --variant adaptive --small-parts 0 --listed-vertices 0
        sanitized "$tool" many "$graphs" --variant adaptive --small-parts 8 --many-vertices 0
        sanitized "$tool" tree "$graphs" --variant adaptive --small-parts 8 --tree 1
        sanitized "$tool" records "$grids" --variant adaptive --short-rows 1
        sanitized "$tool" parts "$grids" --variant resident_parts
    done
    wait # a finding makes its run fail, and is in its file
    tail -n 1 "$folder"/sanitizers/*
}

while (($#)); do
    case $1 in
    goals)
        made "${goals[@]}"
        rows "$folder/adaptive-goals.csv" "${goals[@]/%/$plain}"
        python3 $here/level_costs.py measure "$folder/adaptive-goals.csv"
        ;;
    start)
        made "${others[@]}"
        for turn in 1 2; do
            (
                out=$(realpath "$folder") && cd "$2"
                PYTHONPATH=$PWD:${PYTHONPATH:-} rows "$out/start-old-$turn.csv" "${others[@]/%/$plain}"
            )
            rows "$folder/start-new-$turn.csv" "${others[@]/%/$plain}"
        done
        shift
        ;;
    regimes) python3 $here/ncu_regimes.py measure "$folder/regimes.csv" ;;
    sanitizers) sanitizers ;;
    endurance) python3 $here/adaptive_endurance.py --jobs "$(nproc)" | tee "$folder/endurance.txt" ;;
    kronecker)
        python3 $here/large_kronecker.py "$folder" --scale "$2"
        shift
        ;;
    *) echo "adaptive_proofs.sh: no part $1" >&2 && exit 2 ;;
    esac
    shift
done
