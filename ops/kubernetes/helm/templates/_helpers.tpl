{{- /* Arguments of selector and labels: the root context, and the component or nothing. */}}
{{- define "linklog.selector" -}}
{ app.kubernetes.io/name: linklog, app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
{{- range rest . }}, app.kubernetes.io/component: {{ . }}{{ end }} }
{{- end }}

{{- define "linklog.labels" -}}
{{- $chart := (index . 0).Chart -}}
{{ include "linklog.selector" . | trimSuffix " }" }}, helm.sh/chart: {{ printf "linklog-%s" $chart.Version | replace "+" "_" }}
{{- /**/}}, app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }} }
{{- end }}

{{- define "linklog.imageTag" }}{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}

{{- define "linklog.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (include "linklog.imageTag" .) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- /* The settings of all pods. */}}
{{- define "linklog.pod" -}}
automountServiceAccountToken: false
# A Service named `api` or `edge` would set API_PORT or EDGE_PORT to a URL.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  # `Always` makes the files of PostgreSQL accessible to the group, and PostgreSQL refuses to start on them.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* Arguments: the root context, and the port whose /health/ready shows that the service is ready. */}}
{{- define "linklog.probes" -}}
{{- $port := index . 1 -}}
startupProbe:
  httpGet: { path: /health, port: {{ $port }} }
  periodSeconds: 2
  timeoutSeconds: 3
  # 5 minutes for initdb and migrations, 2 minutes where the Job migrates.
  failureThreshold: {{ eq (index . 0).Values.form "single" | ternary 150 60 }}
readinessProbe:
  httpGet: { path: /health/ready, port: {{ $port }} }
  periodSeconds: 5
  timeoutSeconds: 3
# Does not depend on PostgreSQL, Kafka and Redis: a restart would not repair them.
livenessProbe:
  httpGet: { path: /health, port: {{ $port }} }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
{{- end }}

{{- define "linklog.restricted" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- /*
The secrets of a container: variables to keys of the Secret, as YAML. Arguments: the root context, the required secrets,
and the names of the optional ones that the service reads.
*/}}
{{- define "linklog.secrets" -}}
{{- $values := (index . 0).Values }}
{{- $secrets := index . 1 }}
{{- range index . 2 }}
{{- if has . $values.optionalSecretKeys }}{{ $_ := set $secrets . . }}{{ end }}
{{- end }}
{{- if $values.kafka.sasl.mechanism }}{{ $_ := set $secrets "KAFKA_SASL_PASSWORD" "KAFKA_SASL_PASSWORD" }}{{ end }}
{{- toYaml $secrets }}
{{- end }}

{{- /* Elements of `env`. Argument: the secrets. */}}
{{- define "linklog.secretFiles" }}
{{- range $variable, $key := . -}}
- { name: {{ $variable }}_FILE, value: /run/secrets/linklog/{{ $key }} }
{{ end }}
{{- end }}

{{- define "linklog.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /run/secrets/linklog, readOnly: true }
{{- if .Values.filesConfigMap }}
- { name: files, mountPath: /etc/linklog, readOnly: true }
{{- end }}
{{- if .Values.kafka.ssl.secretName }}
- { name: kafka, mountPath: /run/secrets/kafka, readOnly: true }
{{- end }}
{{- end }}

{{- /* The volumes of these mounts. Arguments: the root context and the secrets. */}}
{{- define "linklog.volumes" -}}
{{- $values := (index . 0).Values -}}
- name: tmp
  emptyDir: { sizeLimit: 256Mi }
- name: secrets
  secret:
    secretName: {{ $values.secretName }}
    items:
      {{- range $key := index . 1 }}
      - { key: {{ $key }}, path: {{ $key }} }
      {{- end }}
{{- with $values.filesConfigMap }}
- name: files
  configMap: { name: {{ . }} }
{{- end }}
{{- with $values.kafka.ssl.secretName }}
- name: kafka
  secret: { secretName: {{ . }} }
{{- end }}
{{- end }}

{{- /* The specification of a claim. Arguments: the access mode and the values. */}}
{{- define "linklog.claim" -}}
accessModes: [{{ index . 0 }}]
{{- with (index . 1).storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests: { storage: {{ (index . 1).size }} }
{{- end }}

{{- /* A container with the command line, as the owner of the tables. Arguments: the root context and the secrets. */}}
{{- define "linklog.tool" -}}
{{- $root := index . 0 -}}
{{ include "linklog.image" $root }}
envFrom:
  - configMapRef: { name: {{ $root.Release.Name }} }
env:
  {{- include "linklog.secretFiles" (index . 1) | trim | nindent 2 }}
  - { name: DATA_DIR, value: /tmp/data }
resources:
  requests: { cpu: 100m, memory: 256Mi }
  limits: { memory: 1Gi }
{{ include "linklog.restricted" $root }}
{{- end }}
