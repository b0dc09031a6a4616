suppressMessages({library(jsonlite);library(pROC)})
M <- fromJSON("input.json", simplifyVector=TRUE, simplifyDataFrame=FALSE, simplifyMatrix=TRUE)
out <- lapply(M, function(s){ r1<-roc(s$label,s$s1,levels=c(0,1),direction="<",quiet=TRUE); r2<-roc(s$label,s$s2,levels=c(0,1),direction="<",quiet=TRUE)
  c1<-ci.auc(r1,method="delong"); c2<-ci.auc(r2,method="delong"); tt<-roc.test(r1,r2,method="delong",paired=TRUE)
  pa<-function(r,lo) list(spec=c(1,lo),auc=as.numeric(auc(r,partial.auc=c(1,lo),partial.auc.focus="specificity")),auc_mcclish=as.numeric(auc(r,partial.auc=c(1,lo),partial.auc.focus="specificity",partial.auc.correct=TRUE)))
  cv<-cov(r1,r2,method="delong")
  list(name=s$name,auc1=as.numeric(auc(r1)),auc2=as.numeric(auc(r2)),var1=var(r1,method="delong"),var2=var(r2,method="delong"),cov12=cv,ci1=as.numeric(c1),ci2=as.numeric(c2),
   delong_z=unname(tt$statistic),delong_p=tt$p.value,pauc1_spec90=pa(r1,.9),pauc1_spec99=pa(r1,.99),pauc2_spec90=pa(r2,.9),
   roc1=list(sens=r1$sensitivities,spec=r1$specificities,thr=r1$thresholds))})
write_json(out,"proc.json",digits=I(17),auto_unbox=TRUE)
