/**
 * What is known to hold secrets: by a part of its path, or by how its content begins. A second line behind the folders
 * that somebody opened, and never complete.
 */
import { sep } from 'node:path'

/** So much of a file is looked at for keys. */
export const BEGINNING_BYTES = 64 * 1024

/** Parts of a path by which folders and files of secrets are known, anywhere. */
const NAMES: readonly RegExp[] = [
  /^\.(ssh|gnupg|aws|azure|kube|docker|password-store|mozilla|thunderbird|gcloud|svc|svc-hub-data)$/i,
  /^\.git$/i,
  /^\.(netrc|pgpass|npmrc|yarnrc\.yml|pypirc|git-credentials|gitconfig|vault-token|htpasswd|my\.cnf|boto|s3cfg|dockercfg|terraformrc)$/i,
  /^\.env(\.(?!example$|sample$|template$).*)?$/i,
  /^.+\.env(\.(?!(.*\.)?(example|sample|template|[cm]?[jt]sx?)$).*)?$/i,
  /^\.envrc$/i,
  /^\.?(bash|zsh|python|node_repl|psql|mysql|sqlite)_history$/i,
  /^id_(rsa|dsa|ecdsa|ed25519)(?!.*\.pub$)([^a-z].*)?$/i,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|kdb|ppk|asc|gpg|tfstate|tfvars|ovpn)$/i,
  /^(.*[.\-_])?kubeconfig(\.(ya?ml|json))?$/i,
  /^(credentials|secrets?|auth|oauth_creds|service[-_]?account|\.?claude)(\.(json|ya?ml|toml|ini|txt))?$/i,
  /^\.credentials\.json$/i,
  /^(shadow|gshadow|wallet\.dat|identity\.kel|(control|a2a)_token\.txt|login data|cookies|key[34]\.db|logins\.json)$/i,
]

/** What people and editors put at the end of the name of a copy. */
const COPY = /(~|\.(bak|backup|old|orig|save|copy|tmp|sw[op]|\d{1,8}))$/i

/** Private keys: PEM and OpenSSH at the beginning of a line or of a string, those of a kubeconfig, PuTTY, age. */
const KEYS: readonly RegExp[] = [
  /^[ \t]*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/m,
  /["'][ \t]*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n)/,
  /-key-data"?[ \t]*:[ \t]*"?LS0tLS1CRUdJTi/,
  /^PuTTY-User-Key-File-\d/,
  /^AGE-SECRET-KEY-1/m,
]

export function isSecret(path: string): boolean {
  return path.split(sep).some(part => NAMES.some(form => form.test(part) || form.test(original(part))))
}

/** Whether a file that begins so holds a private key; UTF-16 is read as well. */
export function holdsKey(beginning: Uint8Array): boolean {
  const text = Buffer.from(beginning)
    .toString('latin1')
    .replaceAll('\0', '')
    .replace(/^(ÿþ|þÿ|ï»¿)/, '')
  return KEYS.some(form => form.test(text))
}

/** The name of the file that one is a copy of. */
function original(name: string): string {
  let left = name
  while (COPY.test(left)) left = left.replace(COPY, '')
  return left
}
