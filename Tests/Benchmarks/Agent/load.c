/* load: load generator and latency probe for an MQTT command/reply agent.
 * Speaks MQTT 3.1.1 on raw non-blocking sockets with its own read/write buffers (many packets per system call), so
 * that the generator costs less than the agent that it measures. One thread, two connections (publisher, listener).
 * Build: cc -O2 -o load load.c
 * Usage: load -h for the options. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void){ struct timespec t; clock_gettime(CLOCK_MONOTONIC,&t); return t.tv_sec*1000000000ull+t.tv_nsec; }
static void die(const char *m){ perror(m); exit(2); }

typedef struct { int fd; unsigned char *rb; size_t rlen, rcap; unsigned char *wb; size_t wlen, woff, wcap; uint64_t rcalls, wcalls; } conn;

static char *host="127.0.0.1", *unixp=NULL, *cmdt="bench/cmd", *rept="bench/evt", *marker=NULL, *wanted=NULL, *client="load";
static int port=1883, qos=0, rqos=-1, nodelay=1, idoff=-1, quiet=0;
static long N=50000, K=100, unackmax=65000; static double rate=0, maxwait=5; static long size=200, warm=0;
static char *tmpl="{\"id\":\"@ID@\",\"url\":\"app://host/repos/apple/swift/issues/7?since=2024-05-01&per_page=30&q=a%20b%2Bc\"}";
static int npids; static int pids[8];

static void conn_open(conn *c,const char *id){
  memset(c,0,sizeof *c); c->rcap=1<<20; c->rb=malloc(c->rcap); c->wcap=1<<22; c->wb=malloc(c->wcap);
  if(unixp){ struct sockaddr_un a={.sun_family=AF_UNIX}; strncpy(a.sun_path,unixp,sizeof a.sun_path-1);
    c->fd=socket(AF_UNIX,SOCK_STREAM,0); if(connect(c->fd,(void*)&a,sizeof a)) die("connect"); }
  else { struct sockaddr_in a={.sin_family=AF_INET,.sin_port=htons(port)}; inet_pton(AF_INET,host,&a.sin_addr);
    c->fd=socket(AF_INET,SOCK_STREAM,0); if(connect(c->fd,(void*)&a,sizeof a)) die("connect");
    if(nodelay){ int one=1; setsockopt(c->fd,IPPROTO_TCP,TCP_NODELAY,&one,sizeof one);} }
  fcntl(c->fd,F_SETFL,O_NONBLOCK);
  unsigned char b[256]; size_t idl=strlen(id), n=0; b[n++]=0x10; b[n++]=12+idl-0; /* patched below */
  size_t start=n; memcpy(b+n,"\0\4MQTT\4\2\0\0",10); n+=10; b[n++]=idl>>8; b[n++]=idl; memcpy(b+n,id,idl); n+=idl; b[1]=n-start;
  memcpy(c->wb,b,n); c->wlen=n;
}
static void put(conn *c,const void *p,size_t n){
  if(c->wlen+n>c->wcap){ if(c->woff){ memmove(c->wb,c->wb+c->woff,c->wlen-c->woff); c->wlen-=c->woff; c->woff=0; }
    while(c->wlen+n>c->wcap){ c->wcap*=2; c->wb=realloc(c->wb,c->wcap);} }
  memcpy(c->wb+c->wlen,p,n); c->wlen+=n; }
static void flush_w(conn *c){
  while(c->woff<c->wlen){ ssize_t r=send(c->fd,c->wb+c->woff,c->wlen-c->woff,MSG_NOSIGNAL); c->wcalls++;
    if(r<0){ if(errno==EAGAIN) return; die("send"); } c->woff+=r; }
  c->woff=c->wlen=0; }
static int fill_r(conn *c){
  if(c->rlen==c->rcap){ c->rcap*=2; c->rb=realloc(c->rb,c->rcap);} ssize_t r=recv(c->fd,c->rb+c->rlen,c->rcap-c->rlen,0); c->rcalls++;
  if(r==0){ fprintf(stderr,"broker closed the connection\n"); exit(3);} if(r<0){ if(errno==EAGAIN) return 0; die("recv"); } c->rlen+=r; return 1; }

static uint64_t *sent; static unsigned char *seen; static uint32_t *lat; static long nrep, ndup, nbad, nack, npub; static uint64_t first_ns,last_ns;
static unsigned char lastpay[65536]; static size_t lastlen;
static long find_id(const unsigned char *p,size_t n){
  const unsigned char *q;
  if(idoff>=0){ if((size_t)idoff+16>n) return -1; q=p+idoff; }
  else { size_t ml=strlen(marker); q=memmem(p,n,marker,ml); if(!q||q+ml+16>p+n) return -1; q+=ml; }
  long v=0; for(int i=0;i<16;i++){ unsigned d=q[i]-'0'; if(d>9) return -1; v=v*10+d; } return v; }
static void on_publish(const unsigned char *p,size_t n){
  long id=find_id(p,n); if(id<0||id>=N){ nbad++; return; }
  /* an interim reply: the disk stood still for half a second, and the terminal one follows */
  if(memmem(p,n,"\"status\":\"accepted\"",21)) return;
  if(wanted&&!memmem(p,n,wanted,strlen(wanted))) nbad++;
  if(seen[id]){ ndup++; return; } uint64_t t=now_ns(); seen[id]=1; uint64_t d=t-sent[id]; lat[nrep++]=d>0xffffffffu?0xffffffffu:d; last_ns=t;
  if(n<=sizeof lastpay){ memcpy(lastpay,p,n); lastlen=n; } }
/* handles all whole packets in the read buffer; returns how many */
static int parse(conn *c,int *connack,int *suback){
  size_t o=0; int cnt=0;
  while(c->rlen-o>=2){ size_t h=o+1; uint32_t rl=0; int sh=0,ok=0; while(h<c->rlen&&sh<28){ unsigned char b=c->rb[h++]; rl|=(b&127u)<<sh; sh+=7; if(!(b&128)){ok=1;break;} }
    if(!ok||c->rlen-h<rl) break; unsigned char t=c->rb[o]; unsigned char *p=c->rb+h; cnt++;
    switch(t>>4){
      case 2: if(p[1]){ fprintf(stderr,"CONNACK %d\n",p[1]); exit(3);} if(connack)*connack=1; break;
      case 9: if(suback)*suback=1; break;
      case 4: nack++; break;
      case 5: { unsigned char r[4]={0x62,2,p[0],p[1]}; put(c,r,4); break; }
      case 7: nack++; break;
      case 6: { unsigned char r[4]={0x70,2,p[0],p[1]}; put(c,r,4); break; }
      case 3: { size_t tl=p[0]<<8|p[1], q=(t>>1)&3, x=2+tl; if(q){ unsigned char r[4]={q==1?0x40:0x50,2,p[x],p[x+1]}; put(c,r,4); x+=2; } on_publish(p+x,rl-x); break; }
    } o=h+rl; }
  if(o){ memmove(c->rb,c->rb+o,c->rlen-o); c->rlen-=o; } return cnt; }
static void subscribe(conn *c,const char *t,int q){ unsigned char b[512]; size_t l=strlen(t),n=0; b[n++]=0x82; b[n++]=2+2+l+1; b[n++]=0;b[n++]=1;b[n++]=l>>8;b[n++]=l;memcpy(b+n,t,l);n+=l;b[n++]=q; put(c,b,n); }
static void spin(conn *c,int *flag,int *f2){ uint64_t dl=now_ns()+5000000000ull; while(!*flag){ flush_w(c); struct pollfd p={c->fd,POLLIN,0}; poll(&p,1,100); if(fill_r(c)) parse(c,flag,f2?f2:flag); if(now_ns()>dl){fprintf(stderr,"no answer from the broker\n");exit(3);} } }
typedef struct { double cpu; long rss; } pst; static pst pstat_(int pid){ pst s={0,0}; char f[64]; snprintf(f,64,"/proc/%d/stat",pid); FILE *h=fopen(f,"r"); if(!h) return s; char b[2048]; size_t n=fread(b,1,2047,h); b[n]=0; fclose(h);
  char *p=strrchr(b,')'); unsigned long u=0,k=0; long r=0; sscanf(p+2,"%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld",&u,&k,&r); s.cpu=(double)(u+k)/sysconf(_SC_CLK_TCK); s.rss=r*4; return s; }
static int cmp(const void*a,const void*b){ uint32_t x=*(uint32_t*)a,y=*(uint32_t*)b; return x<y?-1:x>y; }

int main(int ac,char **av){
  int o; while((o=getopt(ac,av,"H:p:u:t:r:q:Q:n:k:R:s:T:F:o:m:e:w:P:i:a:DZh"))!=-1) switch(o){
    case 'H': host=optarg; break; case 'p': port=atoi(optarg); break; case 'u': unixp=optarg; break; case 't': cmdt=optarg; break; case 'r': rept=optarg; break;
    case 'q': qos=atoi(optarg); break; case 'Q': rqos=atoi(optarg); break; case 'n': N=atol(optarg); break; case 'k': K=atol(optarg); break; case 'R': rate=atof(optarg); break;
    case 's': size=atol(optarg); break; case 'T': tmpl=optarg; break; case 'F': { FILE*f=fopen(optarg,"r"); if(!f)die(optarg); tmpl=calloc(1,65536); if(!fread(tmpl,1,65535,f))die(optarg); fclose(f); break; }
    case 'o': idoff=atoi(optarg); break; case 'm': marker=optarg; break; case 'e': wanted=optarg; break; case 'w': maxwait=atof(optarg); break; case 'i': client=optarg; break; case 'a': unackmax=atol(optarg); break;
    case 'P': { char *s=strtok(optarg,","); while(s&&npids<8){ pids[npids++]=atoi(s); s=strtok(NULL,","); } break; } case 'D': nodelay=0; break; case 'Z': quiet=1; break;
    default: fprintf(stderr,"load -H host -p port | -u unix-socket-path\n -t command topic -r reply topic (the same topic for both measures the broker alone)\n -q QoS of commands -Q QoS of the reply subscription (default: the same)\n -n commands -k most commands without a reply -a most QoS>0 publishes without an ack -R commands/s, open loop, 0 = as fast as -k lets\n -T template | -F template file; @ID@ becomes 16 digits; -s pad payload to this size with spaces\n -m text in front of the id in replies (default: what is in front of @ID@ in the template) | -o fixed offset of the id in replies (no search)\n -e text that every reply must have\n -w seconds to wait for stragglers -P pid,pid: CPU and RSS of these processes -D leave Nagle on -Z one-line output\n"); return 1; }
  signal(SIGPIPE,SIG_IGN); if(rqos<0) rqos=qos;
  char *at=strstr(tmpl,"@ID@"); if(!at){ fprintf(stderr,"template lacks @ID@\n"); return 1; }
  size_t pre=at-tmpl, post=strlen(at+4), plen=pre+16+post; if((long)plen<size) plen=size; unsigned char *pay=malloc(plen); memset(pay,' ',plen); memcpy(pay,tmpl,pre); memcpy(pay+pre+16,at+4,post);
  if(!marker){ size_t s=pre>6?pre-6:0; marker=strndup(tmpl+s,pre-s); }
  sent=calloc(N,8); seen=calloc(N,1); lat=calloc(N,4); memset(sent,1,N*8); memset(sent,0,N*8); memset(seen,0,N); memset(lat,1,N*4);
  /* fixed header + topic, packet id is patched */
  size_t tl=strlen(cmdt), rl=2+tl+(qos?2:0)+plen, hl=0; unsigned char *pkt=malloc(rl+8); pkt[hl++]=0x30|qos<<1; size_t x=rl; do{ unsigned char b=x%128; x/=128; pkt[hl++]=b|(x?128:0);}while(x);
  pkt[hl]=tl>>8; pkt[hl+1]=tl; memcpy(pkt+hl+2,cmdt,tl); size_t midp=hl+2+tl, payp=midp+(qos?2:0); memcpy(pkt+payp,pay,plen); size_t pktlen=payp+plen;
  char id1[64],id2[64]; snprintf(id1,64,"%s-p%d",client,getpid()); snprintf(id2,64,"%s-s%d",client,getpid()); conn P,S; int f; conn_open(&P,id1); f=0; spin(&P,&f,NULL); conn_open(&S,id2); f=0; spin(&S,&f,NULL);
  subscribe(&S,rept,rqos); int sa=0; f=0; { uint64_t dl=now_ns()+5000000000ull; while(!sa&&now_ns()<dl){ flush_w(&S); struct pollfd p={S.fd,POLLIN,0}; poll(&p,1,100); if(fill_r(&S)) parse(&S,&f,&sa);} }
  pst a[8],b[8]; for(int i=0;i<npids;i++) a[i]=pstat_(pids[i]); struct timespec c0,c1; clock_gettime(CLOCK_PROCESS_CPUTIME_ID,&c0);
  first_ns=now_ns(); uint64_t idle=0; double per=rate>0?1e9/rate:0;
  for(;;){
    uint64_t t=now_ns(); int burst=0;
    while(npub<N && npub-nrep<K && (qos==0||npub-nack<unackmax) && P.wlen-P.woff<262144 && burst<256){ if(per>0){ uint64_t due=first_ns+(uint64_t)(npub*per); if(due>t) break; sent[npub]=due; } else sent[npub]=t;
      unsigned char *d=pkt+payp+pre; long v=npub; for(int i=15;i>=0;i--){ d[i]='0'+v%10; v/=10; } if(qos){ unsigned m=(npub%65000)+1; pkt[midp]=m>>8; pkt[midp+1]=m; } put(&P,pkt,pktlen); npub++; burst++; if(per==0&&burst%16==0) t=now_ns(); }
    flush_w(&P); flush_w(&S); if(nrep>=N&&(qos==0||nack>=N)) break;
    struct pollfd p[2]={{P.fd,POLLIN|(P.wlen>P.woff?POLLOUT:0),0},{S.fd,POLLIN|(S.wlen>S.woff?POLLOUT:0),0}};
    struct timespec to={0,100000000}; if(npub<N&&npub-nrep<K){ if(per>0){ uint64_t due=first_ns+(uint64_t)(npub*per), n2=now_ns(); long w=due>n2?due-n2:0; to.tv_nsec=w<100000000?w:100000000; } else if(qos==0||npub-nack<unackmax) { if(P.wlen==P.woff) to.tv_nsec=0; } }
    int pr=ppoll(p,2,&to,NULL); int got=0; if(pr>0){ if(p[0].revents&POLLIN && fill_r(&P)) got+=parse(&P,NULL,NULL); if(p[1].revents&POLLIN && fill_r(&S)) got+=parse(&S,NULL,NULL); }
    uint64_t e=now_ns(); if(got||npub<N&&npub-nrep<K) idle=0; else if(!idle) idle=e; else if(e-idle>maxwait*1e9){ break; }
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID,&c1); for(int i=0;i<npids;i++) b[i]=pstat_(pids[i]);
  double sec=(last_ns-first_ns)/1e9, own=((c1.tv_sec-c0.tv_sec)*1e9+(c1.tv_nsec-c0.tv_nsec))/1e3/(nrep?nrep:1);
  qsort(lat,nrep,4,cmp); 
#define PC(q) (nrep?lat[(long)((nrep-1)*(q))]/1e3:0)
  printf("q%d/%d n=%ld k=%ld%s %.0f msg/s  lat us p50 %.1f p99 %.1f p99.9 %.1f max %.1f  lost %ld dup %ld bad %ld",qos,rqos,npub,K,rate>0?" open-loop":"",nrep/sec,PC(.5),PC(.99),PC(.999),PC(1.0),npub-nrep,ndup,nbad);
  for(int i=0;i<npids;i++) printf("  pid%d cpu %.2f us/msg rss %ld KiB",i+1,(b[i].cpu-a[i].cpu)*1e6/(nrep?nrep:1),b[i].rss);
  if(!quiet){ uint64_t t=now_ns(); volatile long s=0; for(int i=0;i<200000;i++) s+=find_id(lastpay,lastlen); printf("  own cpu %.2f us/msg, id search %.1f ns",own,(now_ns()-t)/200000.0); } printf("\n"); return npub!=nrep||ndup||(wanted&&nbad)?4:0;
}
