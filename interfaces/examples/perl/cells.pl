# A [stream] program in Perl, core modules only. It counts the ink in cells of a few pixels, learns the mean of
# each digit, and names the digit whose mean is nearest. Simple and honest: right for about 77 % of hdigits' images.
use strict;
use warnings;
use JSON::PP;

$| = 1;    # the harness waits for each line: send it at once
my $json = JSON::PP->new->utf8->canonical;
sub say_line { print $json->encode(shift), "\n" }

my ($cell, %mean);

sub ink {    # ink per cell of an 8 x 8 PGM file: a header, then 64 bytes
    my ($path) = @_;
    utf8::encode(my $name = $path);    # JSON has characters, file names are bytes
    open my $file, '<:raw', $name or die "cannot read $path: $!\n";
    local $/;
    my @pixels = unpack 'C*', substr <$file>, -64;
    my @ink;
    $ink[ int(int($_ / 8) / $cell) * 8 + int($_ % 8 / $cell) ] += $pixels[$_] for 0 .. 63;
    return map { $_ // 0 } @ink;
}

sub learn {    # a file of JSON lines, each with "input" and "expect"
    my ($path) = @_;
    my (%sum, %count);
    utf8::encode(my $name = $path);
    open my $file, '<:raw', $name or die "cannot read $path: $!\n";
    while (my $line = <$file>) {
        my $case = $json->decode($line);
        my @ink = ink($case->{input});
        $sum{ $case->{expect} }[$_] += $ink[$_] for 0 .. $#ink;
        $count{ $case->{expect} }++;
    }
    for my $digit (keys %sum) { $mean{$digit} = [ map { $_ / $count{$digit} } @{ $sum{$digit} } ] }
}

sub scores {    # minus the squared distance: the larger, the better
    my @ink = ink(shift);
    my %score;
    for my $digit (keys %mean) {
        $score{$digit} -= ($ink[$_] - $mean{$digit}[$_])**2 for 0 .. $#ink;
    }
    return \%score;
}

# 1. The first line has the parameters, and the file to learn from.
my $hello = $json->decode(scalar <STDIN>);
$cell = $hello->{params}{cell};
eval { learn($hello->{train} // die "this program needs training cases, and the test has none\n"); 1 }
    or do { chomp(my $why = $@); say_line({ error => $why }); exit };
say_line({ ready => JSON::PP::true });

# 2. Then a line for each case, until the harness closes the pipe.
while (my $line = <STDIN>) {
    my $case = $json->decode($line);
    my $scores = eval { scores($case->{input}) };
    chomp(my $why = $@);
    say_line({ id => $case->{id}, $scores ? (scores => $scores) : (error => $why) });
}
