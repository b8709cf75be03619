{{- define "gateway.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "gateway.labels" -}}
app.kubernetes.io/name: orchestration-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* of: calls or runs. */}}
{{- define "gateway.selector" -}}
app.kubernetes.io/name: orchestration-gateway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .of }}
{{- end -}}

{{/* The seconds of server.drain, rounded up. */}}
{{- define "gateway.drainSeconds" -}}
{{- $drain := dig "server" "drain" "30s" .Values.config -}}
{{- $number := regexFind "^[0-9]+" $drain | int -}}
{{- if hasSuffix "ms" $drain -}}{{ div (add $number 999) 1000 }}
{{- else if hasSuffix "m" $drain -}}{{ mul $number 60 }}
{{- else -}}{{ $number }}{{- end -}}
{{- end -}}

{{/* gateway.yaml of one deployment. */}}
{{- define "gateway.config" -}}
{{- $values := .root.Values -}}
{{- $config := deepCopy $values.config -}}
{{- $server := dict "host" "0.0.0.0" "port" 3000 -}}
{{- with $values.ingress.host -}}
{{- $_ := set $server "publicUrl" (printf "%s://%s" (ternary "https" "http" (ne $values.ingress.tlsSecret "")) .) -}}
{{- end -}}
{{- $_ := set $config "server" (merge (deepCopy (default dict $config.server)) $server) -}}
{{- if eq $values.store.kind "sqlite" -}}
{{- $_ := set $config "store" (merge (dict "url" "sqlite:/data/gateway.db") (default dict $config.store)) -}}
{{- else -}}
{{- $_ := set $config "store" (merge (dict "url" (dict "env" $values.store.urlVariable)) (default dict $config.store)) -}}
{{- $tasks := ternary 0 ($values.runs.tasks | int) (eq .of "calls") -}}
{{- $_ := set $config "automations" (merge (dict "tasks" $tasks) (default dict $config.automations)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* What stops an installation that could not work. */}}
{{- define "gateway.check" -}}
{{- if and (eq .Values.store.kind "sqlite") (gt (int .Values.calls.replicas) 1) -}}
{{- fail "calls.replicas is more than 1, and a SQLite file has one gateway: set store.kind to postgres" -}}
{{- end -}}
{{- if and (eq .Values.store.kind "postgres") (eq .Values.existingSecret "") -}}
{{- fail "store.kind is postgres: existingSecret has to name a Secret with the URL of the store" -}}
{{- end -}}
{{- end -}}
