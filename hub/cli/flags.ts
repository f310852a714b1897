/** The flags of svc-hub, in one table. */

/** Every flag: what its value is called, nothing for a switch, and what it does. */
export const flagTable: Record<string, { value?: string; summary: string }> = {
  'data-dir': { value: 'DIR', summary: 'data directory; default ./svc-hub-data' },
  config: {
    value: 'FILE',
    summary: 'configuration file; default config.json in the data directory',
  },
  listen: { value: 'host:port', summary: 'listen address of the hub; default 127.0.0.1:8088' },
  'base-url': { value: 'URL', summary: 'URL by which others reach the hub' },
  'operator-listen': {
    value: 'host:port',
    summary: 'listen address for metrics and health, such as 127.0.0.1:8079',
  },
  'admin-listen': {
    value: 'host:port',
    summary:
      'listen address of the page of the operator over wire 1, such as 127.0.0.1:8078; needs ADMIN_TOKEN',
  },
  'admin-base': { value: 'PATH', summary: 'path of that page; default /admin' },
  docs: {
    value: 'DIR',
    summary: 'serve the documents of svc under /docs/, from the folder that npm run docs:site made',
  },
  store: {
    value: 'URL',
    summary:
      'PostgreSQL database with the rows of the hub, such as postgres://svc@db.example/svc; several processes may share it',
  },
  'store-listen': {
    value: 'URL',
    summary: 'the same database without a pooler, for the one connection that hears word of other processes',
  },
  'store-password-file': {
    value: 'FILE',
    summary: 'file with the password of the role in the database, in place of one in its address',
  },
  files: {
    value: 'DIR|s3:URL',
    summary:
      'folder or bucket for long mail that all processes of the hub share, such as s3://bucket/hub?region=eu-1',
  },
  grant: {
    value: 'ROLE',
    summary: 'role of the database that may serve the hub from now on, without changing its schema',
  },
  to: {
    value: 'URL|file',
    summary: 'where the rows of the hub go: to a PostgreSQL database, or to a file in the data directory',
  },
  wire: { value: '3|1', summary: 'wire version to serve; default 3, and 1 seals nothing' },
  'wire1-listen': {
    value: 'host:port',
    summary: 'serve wire 1 as well, at this address, such as 127.0.0.1:8087',
  },
  'wire1-base-url': { value: 'URL', summary: 'URL by which others reach wire 1' },
  guests: {
    summary: 'let people without an account write to agents of wire 1, on the page /guest; off without it',
  },
  'wire1-federation': { summary: 'let mail of wire 1 cross to peers, and come from them' },
  'wire1-discovery': { summary: 'let anybody read the agents of wire 1 that chose to be federated' },
  keep: {
    value: 'N',
    summary: 'save to a folder named by the time inside the given one, and keep the newest N there',
  },
  admission: {
    value: 'open|closed',
    summary: 'who may register at a hub that this start makes: anyone with proof of work, or whom you admit',
  },
  existing: { summary: 'serve only a hub that is there already, and make none' },
  since: {
    value: 'DATE',
    summary: 'only from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z (UTC)',
  },
  days: { value: 'N', summary: 'with new: for how many days it can be used; default 30' },
  once: { summary: 'with run: look once, not every hour' },
  'wire1-url': {
    value: 'URL',
    summary: 'with add: where the other hub speaks wire 1; alone for one that speaks nothing else',
  },
  yes: { value: 'AID', summary: 'with add: the AID that the operator of the other hub told you' },
  ref: { value: 'TEXT', summary: 'with paid: the reference under which the money came in' },
  'from-witness': {
    value: 'URL',
    summary: 'take back what a witness has seen of the supply chain since, from its hub',
  },
  check: { summary: 'only verify the backup, write nothing' },
  reason: { value: 'TEXT', summary: 'what the credits are given for, or why an agent is archived' },
  id: { value: 'ID', summary: 'the id that a grant printed, to repeat it safely' },
  reset: { summary: "go back to the hub's own limits" },
  json: { summary: 'print one JSON object' },
  envelopes: { value: 'N', summary: 'envelopes that may wait' },
  bytes: { value: 'N', summary: 'bytes that may wait' },
  'stranger-envelopes': { value: 'N', summary: 'envelopes of non-contacts that may wait' },
  'stranger-bytes': { value: 'N', summary: 'bytes of non-contacts that may wait' },
  'stranger-per-minute': { value: 'N', summary: 'first contacts per minute' },
}
/** A flag as help writes it. */
export function shown(flag: string): string {
  const value = flagTable[flag]?.value
  return value === undefined ? `--${flag}` : `--${flag} ${value}`
}
