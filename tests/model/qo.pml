/*
 * The rules R1 to R6 (DESIGN.md section 4) for one task and everybody who
 * touches it: submitters, workers, monitors, a canceller, a replayer,
 * retention, a network that loses answers and delivers late, and crashes.
 * One atomic is one request to the store.  Index names carry a nonce and are
 * never written twice; claim = GET -> PUT lease -> CAS; a writer deletes its
 * own entry only when exactly one write has come since it read, another's.
 *
 * age[p]  writes since p read the task (0: its etag is current, 1, 2: two or
 *         more, 3: holds none)
 * by1[p]  the first of those writes was p's own request (answer lost, or
 *         performed late)
 *
 * Sizes: N entries alive at once, G generations, B minutes, NS submitters, NW
 * workers, NM monitors, CANCEL, REPLAY, PURGE (retention), CRASHB crashes, GHB
 * lost answers or late requests.  LIVE: everything comes to an end.
 * BUMP: the cleaner raises the generation before it deletes an orphan (R3).
 * HEADFIRST: a submit looks for the task before it writes its ready entry.
 * The deletes of R3 (a) to (d) are done the moment they are allowed (SWEEP):
 * the worst case, since an entry too many never hurts.
 *
 * Mutations: OWN=2 a writer deletes its own entry whenever the task is not as
 * it wrote it, OWN=3 only a renewal does; GRACE=0 an entry without a task
 * goes at once, GRACE=9 never; NO_MONO a lease that shrinks; LATEBUCKET an
 * entry in another minute than the lease; NO_CREQ a cancelled task goes back;
 * BUMPRUN a running task is bumped.
 *
 * tools/model.sh runs the configurations of the file configs.
 */
#ifndef N
#define N 6
#endif
#ifndef G
#define G 1
#endif
#ifndef B
#define B 2
#endif
#ifndef NS
#define NS 1
#endif
#ifndef NW
#define NW 1
#endif
#ifndef NM
#define NM 1
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef REPLAY
#define REPLAY 0
#endif
#ifndef PURGE
#define PURGE 0
#endif
#ifndef CRASHB
#define CRASHB 0
#endif
#ifndef GHB
#define GHB 1
#endif
#ifndef OWN
#define OWN 1
#endif
#ifndef GRACE
#define GRACE 1
#endif
#define NONE 0
#define PEND 1
#define RUN  2
#define DONE 3
#define CANC 4
#define OK 1
#define PRE 2
#define AMB 3
#define READY 1
#define LEASE 2
#define P_M 2
#define P_C 4
#define P_R 5
#define P_S 6
#define NP 8

byte st, gen, lid, exp, av; bit creq;
byte ek[N], eg[N], eb[N];		/* entries; ek 0 = no such object */
byte now;
byte age[NP]; bit by1[NP];
byte ls[NP], ns[NP];			/* slot+1: entry p relies on; entry of p's write in progress */
byte ds[NP];				/* slot+1: delete that p has decided */
byte commits, crashb = CRASHB, ghb = GHB, created, sdone, purges = PURGE;
bit acked, cacked, rc_v; byte rc_g, rc_l;
bit sw[2], oldw[2];			/* submit under way; it began before the task became terminal */
byte gh_st, gh_gen, gh_lid, gh_exp, gh_av, gh_p, gh_s; bit gh_c, gh_f;	/* request in flight; gh_f its etag is current */
#ifdef VIS	/* for breadth-first search */
byte i_, j_, u_;
#else
hidden byte i_, j_, u_;
#endif

#define USED(i)	(ek[i]!=0 || ls[0]==i+1||ls[1]==i+1||ns[0]==i+1||ns[1]==i+1||ns[2]==i+1||ns[3]==i+1||ns[5]==i+1||ns[6]==i+1||ns[7]==i+1||ds[2]==i+1||ds[3]==i+1||ds[4]==i+1||gh_s==i+1)
#define INW(i)	(ns[0]==i+1||ns[1]==i+1||ns[2]==i+1||ns[3]==i+1||ns[5]==i+1||ns[6]==i+1||ns[7]==i+1||gh_s==i+1)
#define HASROOM	(!USED(0)||!USED(1)||!USED(2)||!USED(3)||!USED(4)||!USED(N-1))
/* PUT an index entry under a fresh name */
#define PUT(v,k,g,b) \
	if :: !USED(0) -> i_=0 :: else -> if :: !USED(1) -> i_=1 :: else -> if :: !USED(2) -> i_=2 :: else -> \
	if :: !USED(3) -> i_=3 :: else -> if :: !USED(4) -> i_=4 :: else -> i_=N-1 fi fi fi fi fi; \
	assert(!USED(i_)); ek[i_]=k; eg[i_]=g; eb[i_]=b; v=i_+1; SWEEP
#define DELETE(s) if :: (s)>0 -> i_=(s)-1; ek[i_]=0; eg[i_]=0; eb[i_]=0 :: else fi

#define DEAD(i)	(ek[i]!=0 && st!=NONE && (gen>eg[i] || (gen==eg[i] && (st>=DONE || (ek[i]==READY && st==RUN) || (ek[i]==LEASE && st==RUN && eb[i]<exp)))))
#define ORPH(i)	(ek[i]!=0 && (st==NONE || eg[i]>gen || (ek[i]==LEASE && st==PEND && eg[i]==gen)))
#if GRACE==0
#define OLD(i)	1
#elif GRACE==1
#define OLD(i)	(!INW(i))
#else
#define OLD(i)	0
#endif

#define SWEEP	j_=0; do :: j_<N -> if :: DEAD(j_) -> ek[j_]=0; eg[j_]=0; eb[j_]=0 :: else fi; j_++ :: else -> j_=0; break od
#define GET(p)	age[p]=0; by1[p]=0
#define DROP(p)	age[p]=3; by1[p]=0
/* a write by request of q */
#define TOUCH(q) j_=0; do :: j_<NP -> if :: age[j_]==0 -> age[j_]=1; by1[j_]=(j_==q) :: age[j_]==1 -> age[j_]=2; by1[j_]=0 :: else fi; j_++ :: else -> j_=0; break od; gh_f=0
#define APPLY(q,own,nst,ngen,nlid,nexp,nav,ncr,rep) \
	assert((rep) || st<DONE); assert(!(own) || (st==RUN && lid==(own))); assert(!(cacked && st==RUN && (nst)==PEND)); \
	if :: (st==RUN && (nst)!=RUN) -> assert(!(commits & (1<<gen))); commits = commits | (1<<gen) :: else fi; \
	if :: (nst)!=RUN -> cacked=0 :: else fi; \
	if :: (nst)>=DONE -> oldw[0]=sw[0]; oldw[1]=sw[1] :: else fi; \
	exp=nexp; av=nav; lid=nlid; creq=ncr; gen=ngen; st=nst; TOUCH(q); SWEEP
#define CAS(p,own,nst,ngen,nlid,nexp,nav,ncr,rep) \
	if \
	:: age[p]==0 -> APPLY(p,own,nst,ngen,nlid,nexp,nav,ncr,rep); GET(p); res=OK \
	:: age[p]!=0 -> res=PRE \
	:: ghb>0 && gh_st==NONE && age[p]==0 -> ghb--; gh_st=nst; gh_gen=ngen; gh_lid=nlid; gh_exp=nexp; gh_av=nav; gh_c=ncr; gh_p=p; gh_s=ns[p]; gh_f=1; res=AMB \
	fi
#if OWN==0
#define MYLOSS(p)	0
#elif OWN==1
#define MYLOSS(p)	(age[p]==1 && !by1[p])
#else
#define MYLOSS(p)	(age[p]>0 && !(age[p]==1 && by1[p]))
#endif
/* GET after 412 or no answer; deletes p's new entry if the rule says that its CAS has lost */
#define LOOK(p)	u_=MYLOSS(p); if :: u_ && ns[p] -> DELETE(ns[p]) :: else fi; GET(p)
#if OWN==3	/* naive for a renewal only; a claim looks for its lease_id, as R5 says */
#define LOOKC(p) u_=MYLOSS(p) && !OURS; if :: u_ && ns[p] -> DELETE(ns[p]) :: else fi; GET(p)
#else
#define LOOKC(p) LOOK(p)
#endif
#define BKT(v)	if :: v=now :: now<B-1 -> v=now+1 fi
#define OURS	(st==RUN && gen==g && lid==me)
#define FOR(X)	X(0) X(1) X(2) X(3) X(4) X(5)

proctype Submitter(byte p) {
	byte b; byte res;
#ifdef HEADFIRST
	atomic { sw[p-P_S]=1; if :: st!=NONE -> acked=1; goto dead :: else fi };
#endif
	atomic { HASROOM -> sw[p-P_S]=1; BKT(b); if :: st==NONE -> GET(p) :: else -> age[p]=2 fi; PUT(ns[p],READY,0,b) };
	atomic {
		if
		:: st==NONE -> st=PEND; av=b; gen=0; created++; commits=0; TOUCH(p); ns[p]=0; acked=1; goto dead
		:: st==NONE && ghb>0 -> ghb--; st=PEND; av=b; gen=0; created++; commits=0; TOUCH(p)	/* answer lost */
		:: st!=NONE							/* 412 */
		:: crashb>0 -> crashb--; ns[p]=0; goto dead
		fi };
	atomic { LOOK(p); ns[p]=0; if :: st!=NONE -> acked=1 :: else fi };
dead:	atomic { sw[p-P_S]=0; oldw[p-P_S]=0; DROP(p); b=0; res=0; sdone++ }
}

#define PK(i)	:: (ek[i]==READY && eb[i]<=now && st==PEND && eg[i]==gen && av<=now && HASROOM) -> skip
#define IDLE	g=0; lb=0; nb=0; res=0; op=0; ls[p]=0; ns[p]=0; DROP(p); goto idle
proctype Worker(byte p) {
	byte g,lb,nb,res,op,me;
	me=p+1;
idle:
end1:	atomic { if FOR(PK) fi; GET(p); g=gen };
	atomic { HASROOM -> BKT(lb); PUT(ns[p],LEASE,g,lb) };
#ifdef LATEBUCKET
	atomic { if :: lb<now -> lb=now :: else fi };
#endif
claim:	atomic {
		if
		:: CAS(p,0,RUN,g,me,lb,0,0,0)
		:: crashb>0 -> crashb--; me=me+2; IDLE
		fi;
		if
		:: res==OK -> res=0; ls[p]=ns[p]; ns[p]=0; goto running
		:: else -> res=0
		fi };
	atomic {
		LOOKC(p);
		if
		:: OURS && !creq -> ls[p]=ns[p]; ns[p]=0; goto running
		:: OURS && creq -> ls[p]=ns[p]; ns[p]=0; op=CANC; goto commit
		:: st==PEND && gen==g && !u_ && gh_st!=NONE -> goto claim	/* not applied: the same bytes again */
		:: else -> me=me+2; IDLE
		fi };
running:
	if
#ifndef LIVE
	:: atomic { lb>=now -> nb=lb; goto renew }
#endif
	:: atomic { lb<now+1 && lb<B-1 && HASROOM -> BKT(nb); if :: nb<=lb -> nb=lb+1 :: else fi }; atomic { HASROOM -> PUT(ns[p],LEASE,g,nb); goto renew }
#ifdef NO_MONO
	:: atomic { lb>now && HASROOM -> nb=now; PUT(ns[p],LEASE,g,nb); goto renew }
#endif
	:: atomic { op=DONE; goto commit }
	:: atomic { g<G && HASROOM -> op=PEND; BKT(nb); PUT(ns[p],READY,g+1,nb); goto commit }
	:: atomic { crashb>0 -> crashb--; rc_v=1; rc_g=g; rc_l=me; me=me+2; IDLE }
	fi;
renew:	atomic {
		CAS(p,me,RUN,g,me,nb,0,creq,0);
		if
		:: res==OK -> res=0; if :: ns[p] -> DELETE(ls[p]); ls[p]=ns[p]; ns[p]=0 :: else fi; lb=nb; nb=0; goto running
		:: else -> res=0
		fi };
	atomic {
		LOOK(p);
		if
		:: OURS -> if :: ns[p] && exp==nb && ek[ns[p]-1]!=0 -> ls[p]=ns[p] :: else fi; ns[p]=0; lb=exp; nb=0;
			if :: creq -> op=CANC; goto commit :: else -> goto running fi
		:: else -> IDLE
		fi };
commit:	atomic {
		if
		:: CAS(p,me,op,(op==PEND->g+1:g),0,0,(op==PEND->nb:0),0,0)
		:: crashb>0 -> crashb--; rc_v=1; rc_g=g; rc_l=me; me=me+2; IDLE
		fi;
		if :: res==OK -> DELETE(ls[p]); IDLE :: else -> res=0 fi };
	atomic {
#ifdef NO_CREQ
		GET(p);
		if
		:: OURS -> goto commit
		:: else -> IDLE
		fi
#else
		u_=MYLOSS(p); GET(p);	/* keeps its ready entry while it may send the same bytes again */
		if
		:: OURS && creq -> op=CANC; ns[p]=0; goto commit
		:: OURS && !creq -> goto commit
		:: else -> if :: u_ && ns[p] -> DELETE(ns[p]) :: else fi; IDLE
		fi
#endif
	}
}

#ifdef BUMP	/* at any time: nothing but an entry without a task depends on grace */
#define MO(i)	:: (ek[i]!=0 && eb[i]<=now && st==NONE && OLD(i)) -> ds[p]=i+1; goto del \
		:: (ek[i]==LEASE && eb[i]<=now && st==PEND && eg[i]==gen && gen<G && HASROOM) -> op=PEND; goto bump \
		:: (ek[i]!=0 && eb[i]<=now && st>=DONE && eg[i]>gen) -> GET(p); g=eg[i]; goto touch
#ifdef BUMPRUN	/* mutation: also bumps a running task */
#define MR(i)	:: (ek[i]!=0 && eb[i]<=now && st==RUN && eg[i]>gen) -> GET(p); g=eg[i]; goto touch
#else
#define MR(i)
#endif
#else
#define MO(i)	:: (ek[i]!=0 && eb[i]<=now && ORPH(i) && OLD(i)) -> ds[p]=i+1; goto del
#define MR(i)
#endif
#define MX(i)	:: (ek[i]==LEASE && eb[i]<=now && st==RUN && eg[i]==gen && exp<=now && HASROOM) -> skip
#define MIDLE	g=0; nb=0; res=0; op=0; ns[p]=0; ds[p]=0; DROP(p); goto idle
proctype Monitor(byte p) {
	byte g,nb,res,op;
idle:
end1:	atomic {
		if
		FOR(MO)
		FOR(MR)
		FOR(MX)
		:: rc_v && st==RUN && gen==rc_g && lid==rc_l && HASROOM -> rc_v=0; rc_g=0; rc_l=0
		:: rc_v && !(st==RUN && gen==rc_g && lid==rc_l) -> rc_v=0; rc_g=0; rc_l=0; goto idle
		fi;
		GET(p); g=gen;
		goto dec;
bump:		GET(p); g=gen; BKT(nb); if :: av>nb -> nb=av :: else fi; goto put;
dec:		skip;
#ifdef NO_CREQ
		if :: g<G -> op=PEND; BKT(nb) :: g>=G -> op=DONE fi
#else
		if :: creq -> op=CANC :: !creq && g<G -> op=PEND; BKT(nb) :: !creq && g>=G -> op=DONE fi
#endif
	};
put:	if :: atomic { op==PEND && HASROOM -> PUT(ns[p],READY,g+1,nb) } :: op!=PEND fi;
	atomic {
		if
		:: CAS(p,0,op,(op==PEND->g+1:g),0,0,(op==PEND->nb:0),0,0)
		:: crashb>0 -> crashb--; MIDLE
		fi;
		if :: res==OK -> MIDLE :: else -> res=0 fi };
	atomic { LOOK(p); MIDLE };
touch:	atomic { CAS(p,0,st,g,lid,exp,0,creq,1); MIDLE };
del:	atomic { DELETE(ds[p]); MIDLE }
}

#if CANCEL
active proctype Canceller() {
	byte res;
	atomic { st!=NONE -> GET(P_C) };
again:	atomic {
		if :: st>=DONE || creq || st==NONE -> goto out :: else fi;
		if :: age[P_C]!=0 -> GET(P_C); goto again :: else fi;
		if
		:: st==PEND -> APPLY(P_C,0,CANC,gen,0,0,0,0,0)
		:: st==RUN -> APPLY(P_C,0,RUN,gen,lid,exp,0,1,0); cacked=1
		fi };
out:	DROP(P_C)
}
#endif
#if REPLAY
active proctype Replayer() {
	byte g,nb,res;
	atomic { st>=DONE && gen<G && HASROOM -> GET(P_R); g=gen; BKT(nb) };
	atomic { HASROOM -> PUT(ns[P_R],READY,g+1,nb) };
again:	atomic {
		if
		:: CAS(P_R,0,PEND,g+1,0,0,nb,0,1)
		:: crashb>0 -> crashb--; goto out
		fi;
		if :: res==OK -> goto out :: else fi };
	atomic { u_=MYLOSS(P_R); GET(P_R);
		if
		:: st>=DONE && gen==g && gh_st!=NONE -> goto again
		:: else -> if :: u_ -> DELETE(ns[P_R]) :: else fi
		fi };
out:	atomic { ns[P_R]=0; DROP(P_R); g=0; nb=0; res=0 }
}
#endif
active proctype Net() {
end1:	do
	:: atomic { gh_st!=NONE ->
		if
		:: gh_f -> APPLY(gh_p,0,gh_st,gh_gen,gh_lid,gh_exp,gh_av,gh_c,1)
		:: skip
		fi;
		gh_st=0; gh_gen=0; gh_lid=0; gh_exp=0; gh_av=0; gh_c=0; gh_p=0; gh_s=0; gh_f=0 }
	od
}
#if PURGE
active proctype Retention() {
end1:	do :: atomic { purges>0 && st>=DONE && !oldw[0] && !oldw[1] -> purges--; st=NONE; gen=0; lid=0; exp=0; av=0; creq=0; acked=0; created=0; TOUCH(P_C) } od
}
#endif
active proctype Clock() {
end1:	do :: atomic { now<B-1 -> now++ } od
}
#ifdef P1WEAK	/* any entry of the generation: false = lost for good */
#define HR(i)	|| (ek[i]==READY && eg[i]==gen)
#define HL(i)	|| (ek[i]==LEASE && eg[i]==gen)
#else
#define HR(i)	|| (ek[i]==READY && eg[i]==gen && eb[i]==av)
#define HL(i)	|| (ek[i]==LEASE && eg[i]==gen && eb[i]==exp)
#endif
active proctype Inv() {
end1:	do
	:: atomic { (st==PEND && !(0 FOR(HR))) || (st==RUN && !(0 FOR(HL))) -> assert(0) }	/* P1 */
#ifdef REACH	/* must fail: a second life after retention is reachable */
	:: atomic { purges==0 && st==RUN -> assert(0) }
#endif
	:: atomic { created>1 || (acked && st==NONE && PURGE==0) -> assert(0) }			/* P4 */
	od
}
#ifdef LIVE
#define AN(i)	|| ek[i]!=0
active proctype Fin() {
end1:	atomic { timeout ->
		if :: !HASROOM -> goto noroom :: else fi;	/* the model's limit, not the design's */
		assert(st>=DONE || (st==NONE && !acked));
		assert(!(0 FOR(AN))) };
noroom:	skip
}
#endif
init { atomic {
	byte k;
	k=0; do :: k<NP -> age[k]=3; k++ :: else -> k=0; break od;
	run Submitter(P_S);
#if NS>1
	run Submitter(P_S+1);
#endif
	run Worker(0);
#if NW>1
	run Worker(1);
#endif
	run Monitor(P_M);
#if NM>1
	run Monitor(P_M+1);
#endif
} }
