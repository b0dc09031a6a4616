# Strata of one to five units: Taylor and jackknife under every survey.lonely.psu.  Rscript lone_reference.R
suppressMessages({library(survey); library(jsonlite)})
set.seed(20261116)
sizes <- c(3, 1, 2, 5, 1, 2, 4, 1, 3, 2)
make <- function(h, n) do.call(rbind, lapply(seq_len(n), function(i) {
  m <- sample(1:4, 1); data.frame(stratum=h, psu=h * 100 + i, w=runif(1, .5, 2), a=rbinom(m, 1, .7), b=rbinom(m, 1, .5)) }))
x <- do.call(rbind, Map(make, seq_along(sizes), sizes))
found <- function(d) { m <- svymean(~a, d); r <- svyratio(~a, ~b, d)
  list(mean=as.numeric(coef(m)), mean_variance=as.numeric(vcov(m)), ratio=as.numeric(coef(r)), ratio_variance=as.numeric(vcov(r)), df=degf(d)) }
out <- list(input=as.list(x), taylor=list(), jackknife=list())
for (lone in c("remove", "certainty", "adjust", "average")) {
  options(survey.lonely.psu=lone)
  d <- svydesign(id=~psu, strata=~stratum, weights=~w, data=x)
  out$taylor[[lone]] <- found(d)
  # R's jackknife takes "average" over units, its Taylor over strata: only the latter is kept.
  if (lone != "average") for (mse in c(TRUE, FALSE))
    out$jackknife[[paste0(lone, if (mse) "_full" else "_mean")]] <- found(as.svrepdesign(d, type="JKn", mse=mse))
}
y <- x[x$stratum %in% which(sizes > 1), ]
d <- svydesign(id=~psu, weights=~w, data=y)
out$one_stratum <- list(taylor=found(d), full=found(as.svrepdesign(d, type="JK1", mse=TRUE)), mean=found(as.svrepdesign(d, type="JK1", mse=FALSE)))
out$meta <- list(R=R.version.string, survey=as.character(packageVersion("survey")))
write_json(out, "lone_reference.json", digits=I(17), auto_unbox=TRUE)
