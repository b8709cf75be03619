#!/bin/bash
# Runs inside a booted Debian, as a service of systemd. Each line of /result/log is one finding of the test.
exec >>/result/output 2>&1
name=orchestration-gateway
say() { echo "$*" >>/result/log; }
state() { systemctl is-active $name; }
# Node.js of the package, kept where no upgrade replaces it.
installed() { dpkg -i /packages/libatomic1*.deb /packages/first.deb && cp /usr/lib/$name/lib/node /result/node; }

ip link set lo up 2>/dev/null
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
ready() { for _ in $(seq 150); do orchestration-gateway healthcheck --ready --config /etc/$name/gateway.yaml 2>/dev/null && return 0; sleep 0.2; done; return 1; }
ready; say "ready $?"
say "user $(ps -o user= -p "$(systemctl show -p MainPID --value $name)" 2>/dev/null || stat -c %U /proc/$(systemctl show -p MainPID --value $name))"
say "store $(stat -c '%U %a' /var/lib/$name/gateway.db)"
/result/node -e 'require("node:net").createServer((s) => s.end()).listen(9000)' & far=$!
sleep 0.5
runuser -u $name -- env CREDENTIALS_DIRECTORY=/etc/$name orchestration-gateway doctor --config /etc/$name/gateway.yaml; say "doctor $?"
kill $far
systemctl reload $name; say "reload $?"
systemctl restart $name && ready; say "restarted $?"

PASSWORD=$password /result/node /packages/load.mjs >/result/load & load=$!
sleep 3
dpkg -i /packages/second.deb; say "upgraded $?"
say "version $(orchestration-gateway --version) $(state)"
ready; sleep 2
dpkg -i /packages/first.deb; say "downgraded $?"
say "version $(orchestration-gateway --version) $(state)"
ready; sleep 2
kill -TERM $load; wait $load; say "load $?"
grep -q passwordHash /etc/$name/gateway.yaml; say "configuration kept $?"
dpkg -r $name; say "removed $? $(state)"
say "data $(ls /var/lib/$name | grep -c gateway.db)"
dpkg -P $name; say "purged $? $(ls -d /var/lib/$name /etc/$name 2>/dev/null | wc -l)"
journalctl -u $name -o cat --no-pager >/result/journal
say "done"
systemctl --no-block poweroff
