#!/bin/bash
# Runs inside a booted Debian, as a service of systemd. Each line of /result/log is one finding of the test.
exec >>/result/output 2>&1
name=orchestration-gateway
say() { echo "$*" >>/result/log; }
state() { systemctl is-active $name; }
# Node.js of the package, kept where no upgrade replaces it.
installed() { dpkg -i /packages/libatomic1*.deb /packages/first.deb && cp /usr/lib/$name/lib/node /result/node; }

say booted
installed; say "installed $?"
say "before configuration $(state) $(systemctl is-enabled $name)"
orchestration-gateway init --system >/result/init; say "init $?"
password=$(sed -n 's/^ *password *//p' /result/init)
cat >>/etc/$name/gateway.yaml <<'YAML'
adapters:
  - { name: far, kind: rest, url: "http://127.0.0.1:9000", health: off, auth: { type: bearer, token: { credential: far-token } } }
YAML
sed -i '0,/^adapters: \[\]/{/^adapters: \[\]/d}' /etc/$name/gateway.yaml
mkdir -p /etc/systemd/system/$name.service.d && echo 'a-token-of-the-far-side' >/etc/$name/far-token
printf '[Service]\nLoadCredential=far-token:/etc/%s/far-token\n' $name >/etc/systemd/system/$name.service.d/credential.conf
systemctl daemon-reload
systemctl enable --now $name; say "enabled $?"
ready() { for _ in $(seq 600); do orchestration-gateway healthcheck --ready --config /etc/$name/gateway.yaml 2>/dev/null && return 0; sleep 0.2; done; return 1; }
ready; say "ready $?"
say "user $(ps -o user= -p "$(systemctl show -p MainPID --value $name)" 2>/dev/null || stat -c %U /proc/$(systemctl show -p MainPID --value $name))"
say "store $(stat -c '%U %a' /var/lib/$name/gateway.db)"
/result/node -e 'require("node:net").createServer((s) => s.end()).listen(9000, () => console.log("listens"))' >/result/far & far=$!
until grep -q listens /result/far; do sleep 0.1; done
doctor() { runuser -u $name -- env CREDENTIALS_DIRECTORY=/etc/$name orchestration-gateway doctor --config /etc/$name/gateway.yaml; }
doctor; say "doctor $?"
# As after a command that root ran.
chown root /var/lib/$name/gateway.db.key
say "doctor names $(doctor | grep -c 'PROBLEM  store: this user cannot read and write .*gateway.db.key')"
chown $name /var/lib/$name/gateway.db.key
kill $far; wait $far
systemctl reload $name; say "reload $?"
systemctl restart $name && ready; say "restarted $?"

PASSWORD=$password /result/node /packages/load.mjs >/result/load & load=$!
# Waits until the load has ten more answers.
answered() { grep -o '^[0-9]*' /result/answered 2>/dev/null || echo 0; }
more() { local wanted=$(($(answered) + 10)); for _ in $(seq 1200); do [ "$(answered)" -ge $wanted ] && return 0; sleep 0.25; done; return 1; }
more; say "calls pass $?"
dpkg -i /packages/second.deb; say "upgraded $?"
say "version $(orchestration-gateway --version) $(state)"
more; say "calls pass $?"
dpkg -i /packages/broken.deb; say "refused $?"
say "version $(orchestration-gateway --version) $(state)"
more; say "calls pass $?"
dpkg -i /packages/first.deb; say "downgraded $?"
say "version $(orchestration-gateway --version) $(state)"
more; say "calls pass $?"
kill -TERM $load; wait $load; say "load $?"
grep -q passwordHash /etc/$name/gateway.yaml; say "configuration kept $?"

inode() { stat -c %i /var/lib/$name/gateway.db; }
store=$(inode)
dpkg -r $name; say "removed $? $(state)"
say "data $(ls /var/lib/$name | grep -c 'gateway.*db$')"
dpkg -i /packages/first.deb && systemctl enable --now $name && ready; say "installed again $?"
[ "$store" = "$(inode)" ]; say "with its data $?"
journalctl -u $name -o cat --no-pager >/result/journal
dpkg -P $name; say "purged $? $(state) $(ls -d /var/lib/$name /etc/$name 2>/dev/null | wc -l)"
say "done"
systemctl --no-block poweroff
