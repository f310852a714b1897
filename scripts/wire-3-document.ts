/** docs/wire-3.md as the tables say it, with the rules that no table can hold. */
import type { RouteRow } from '../protocol/contract/route.ts'
import { type CodeRow, codes } from '../protocol/wire3/codes.ts'
import { wire3Routes } from '../protocol/wire3/routes.ts'
import { type Member, membersOf, schemaOf } from './members.ts'
import { codeRows, common, routeRows } from './tables.ts'

const INTRODUCTION = `# Wire 3: the interface of a hub

Printed from the tables in \`protocol/wire3/\` by \`npm run -s docs\`; do not edit by hand. The same tables as data: [openapi-wire-3.json](openapi-wire-3.json) (OpenAPI 3.1). What is signed and sealed is in [objects.md](objects.md); start there with AID, key event log and key set.

Every request and every answer carries \`X-Svc-Wire: 3\`; GET routes outside \`/relay/\` take requests without it, or with anything there but a number above 3, and answer HEAD as well. Routes that are not signed refuse the headers that name a sender. What is no HTTP request is refused in the same form as everything else (\`bad_request\`, or \`too_large\` for a head above 8 KiB). A connection takes one request at a time: one that is written before the answer to the last has come ends it. A page of a list may hold fewer agents than asked for, also none: only without \`next\` is it the last. Bodies are strict JSON (\`Content-Type: application/json\`, whatever its case and parameters; none, or one that HTTP libraries put in unasked, is as good, any other is refused): an unknown member, a member that stands twice or a value of another type is refused; so is a body of more than 512 values and member names (8192 for \`/register\`; as many as its items need for a list). Names and summaries are one line, empty or with something other than white space, and neither they nor readmes and cards hold control or invisible characters (C0 and C1 but newline and tab in a readme; line separators, U+FFF9 to U+FFFB and U+2800; what Unicode lists as Default_Ignorable_Code_Point, such as soft hyphen, zero width, bidirectional controls, fillers, tags and variation selectors, but U+FE0F directly after an Extended_Pictographic character or between 0-9, #, * and U+20E3; Noncharacter_Code_Point); answers spell those of older releases as escapes. Binary values are base64url without padding and without set spare bits, times are Unix milliseconds. \`limit\` is 1 to 100 in lists of agents and 1 to 500 in those of an account; \`cap\` takes several capabilities with commas between, and families that end with \`*\`. A member written here with dots, such as \`svc.settlement.end\`, is one name; in a request its value says nothing, its presence asks. \`/relay/send\` takes the raw bytes of an envelope.`

const HEADERS = `## Headers

| Header | On | Value |
|---|---|---|
| \`X-Svc-Wire\` | every request and answer | \`3\` |
| \`X-Svc-AID\` | signed routes | AID of the signer, as text |
| \`X-Svc-TS\` | signed routes; \`/relay/send\` under a session | Unix milliseconds in decimal |
| \`X-Svc-Seq\` | signed routes | sequence number of the last event of the signer's log, in decimal |
| \`X-Svc-Sig\` | signed routes | the signature, 64 bytes as base64url |
| \`X-Svc-Access\` | \`/relay/send\` | the access record, base64url, byte-equal to key 7 of the envelope, at most 1 KiB |
| \`X-Svc-Session\` | \`/relay/send\` under a session | \`sid\` as the hub gave it |
| \`X-Svc-MAC\` | \`/relay/send\` under a session | 32 bytes as base64url |
| \`X-Svc-Home\` | \`/relay/send\`, optional | AID of the recipient's home hub |
| \`X-Svc-TS-Floor\` | answer \`ts_stale\` | the floor, Unix milliseconds |
| \`Prefer: wait=N\` | \`/relay/poll\` | wait up to N seconds (at most 55) for mail; the answer says \`Preference-Applied: wait=N\` when the hub does |
| \`Retry-After\` | answers 429, 502, 503, 507 | seconds; a hub holds back each further 429 of an address that goes on asking, by a second here |
| \`Content-Type\` | \`/relay/send\` | \`application/vnd.svc.envelope+cbor\` |`

const SIGNED = `## Signed requests

The signature is Ed25519, by the current identity key, over exactly the bytes of the text

\`svc-relay/v2/<action>/<AID of the signer>/<AID of the hub>/<X-Svc-TS>/<digest>\`

where digest = base64url of SHA-256(method ‖ 00 ‖ path with query ‖ 00 ‖ body). The action is that of the route. The hub's AID comes from \`GET /hub/identity\`. For \`/register\` the key is the newest one of the log in the body; for every other route that of the log that the hub holds. A request in which one of the four headers is missing or has not its form is \`unauthorized\` before a byte of its body is read; faults of the body are told before a signature is checked.

Times, once the signature holds:

1. The very same signature again: \`replayed\`.
2. A time not after the last one accepted from this signer: \`ts_stale\` with that time as the floor. After a start of the hub the floor of every signer is the hub's clock at the start plus 2 s, or the stored one if that is later.
3. More than 5 minutes behind the hub's clock: \`ts_stale\`; the floor is then the hub's clock or the last accepted time, whichever is later.
4. More than 5 minutes ahead: \`unauthorized\`.

So the times of one signer rise strictly and requests arrive in their order: keep one in flight, beside a held poll. After \`ts_stale\` sign once more with a time above the floor (wait until your clock is there, or use floor + 1). Take the offset of your clock from the \`Date\` header. A request that got no answer may have taken effect; \`replayed\` after a repetition means that it reached the hub.`

const SENDING = `## Sending an envelope

\`POST /relay/send\` takes an envelope (objects, section 6). Its access record (objects, section 8) says which credential it has:

- **First contact** (record \`{1 0}\`): open a session first. \`POST /relay/session\` with \`epk\`, a fresh X-Wing public key (1,216 bytes), answers \`sid\`, \`exp\`, \`enc\` and \`ct\`; opening \`ct\` gives the MAC key. Send with \`X-Svc-TS\`, \`X-Svc-Session\` and \`X-Svc-MAC\`. A session lives an hour and can be used for several envelopes.
- **Capability** (record of kind 1): \`X-Svc-Access\` is all. The request must carry none of \`X-Svc-AID\`, \`X-Svc-Seq\`, \`X-Svc-Sig\`; use a connection that never carried a signed request, or the hub can tell who you are.

The answer names the envelope by a random \`rid\`. The same envelope again while it waits is \`duplicate\` with the same \`rid\`. \`POST /relay/status\` with \`rid\` and \`handle\` (objects, section 9) gives the recipient's confirmation once it is there. \`recipient_quiet\` says that the recipient has collected nothing for an hour; \`via_hub\` names the hub that took the envelope where that was another one. \`rid\`s of session envelopes and of capability envelopes, and those of several recipients, never belong into one status query: the hub would learn that they are one sender's: ask for what went under a session on the connections of your signed calls, and for the \`rid\`s of each capability apart.

## Collecting mail

\`POST /relay/poll\` gives what waits in order of \`id\`, \`more\` when not all of it. Open each envelope, store it, then \`POST /relay/ack\` its \`id\` with \`handle\` and confirmation. An envelope that cannot be opened (another recipient, an unknown kid) is acked with its \`id\` alone: there is nobody to confirm to. Where the message head could be read but its signature or an attachment does not hold, confirm with code 2; where the sender's key state is not known, with code 4. What is not acked comes again; leave an envelope unacked whose bytes are not those of its head (form, length, hash), since a hub took only such and it was damaged on its way. \`after_id\` continues within one drain; never keep it.

One poll of an agent can wait; a newer one ends the older with an empty answer. \`key_state_notice\` is the hub's signed word about the reader's own log (objects, section 5), and \`key_state_notice_error\` says why there is none.

## Registering

1. Make an inception. \`POST /register\` with \`check_only: true\` says \`admitted\`, \`open\` or \`admission_required\`.
2. Rotate, naming the hub as witness (key 9 of the event): the last event of a registered log must.
3. \`POST /register\` with \`kel\`, \`enc_keys\` and \`prev_seq: 0\`. An open hub first answers \`pow_required\` with a \`challenge\`: \`seed\` and \`bits\`; find the \`nonce\` (objects, section 16) and register again before \`not_after\`.
4. Fetch your log from \`GET /agents/{aid}/kel\`: it now has the hub's witness entry. Publish a new key set weekly with \`POST /agents/{aid}/keys\`.

Members that are absent keep what the hub has, here and in \`POST /profile\`; a registered agent that registers again needs no work.

## Rotating

1. Make the next event: it reveals the key that the one before committed to, and names the hub in key 9 as before. Another hub there moves the agent.
2. \`POST /register\` with the longer \`kel\`, a key set of the new event in \`enc_keys\` and \`prev_seq: 0\`, signed with the new key. The hub takes both in one call.
3. Where only the log is sent (\`POST /agents/kel:push\`, which anybody may do), the hub drops the key set of the older event. \`GET /agents/{aid}/keys\` is 404 and nobody new can seal to the agent until it has published another.

A request that is signed with the new key before the hub has the event is \`unauthorized\`; one signed with the old key afterwards is \`key_retired\`. Sessions and held polls of the old key end.`

/** The whole document as Markdown. */
export function wire3Document(): string {
  return [
    INTRODUCTION,
    HEADERS,
    SIGNED,
    SENDING,
    routeTable(),
    commonCodes(),
    codeTable(),
    '## Members\n\nRequest and answer of every route with JSON. `?` marks a member that may be absent.',
    ...Object.values<RouteRow>(wire3Routes).flatMap(row => membersSection(row)),
  ]
    .join('\n\n')
    .concat('\n')
}

function routeTable(): string {
  const rows = routeRows().filter(row => row.line === 'wire3')
  return [
    '## Routes\n\nRoutes marked (own) are no part of the specification.\n',
    '| Method and path | Authentication | Codes beyond the common ones | Body at most |\n|---|---|---|---|',
    ...rows.map(row => {
      const signed = row.action === undefined ? row.auth : `${row.auth} (${row.action})`
      const own = row.own ? ' (own)' : ''
      return `| ${row.method} \`${row.path}\`${own} | ${signed} | ${row.codes.join(', ')} | ${size(row.limits['bodyBytes'] ?? 0)} |`
    }),
  ].join('\n')
}

function commonCodes(): string {
  return `## Common codes\n\nAny route: ${common.any.join(', ')}. Signed routes also: ${common.signed.join(', ')}. Anonymous routes and \`/relay/send\` also: ${common.anonymous.join(', ')}.`
}

/** The sentence of a code with what usually stands in it. */
const usualSentence = ({ sentence, why, step, part }: CodeRow): string =>
  sentence
    .replace('{why}', why ?? '{why}')
    .replace('{step}', step ?? '{step}')
    .replace('{part}', part ?? '{part}')

function codeTable(): string {
  return [
    '## Codes\n\nEvery refusal is `{reason, error}` and the members named here; `error` says what happened and, after the semicolon, what to do next.\n',
    '| Code | Status | Members | Sentence |\n|---|---|---|---|',
    ...codeRows()
      .filter(row => row.line === 'wire3')
      .map(
        ({ code, status, members }) =>
          `| ${code} | ${status} | ${members.join(', ')} | ${usualSentence(codes[code as keyof typeof codes])} |`,
      ),
  ].join('\n')
}

/** The tables of one route: its query, its request, its answer. */
export function membersSection(row: RouteRow): string[] {
  const parts = [
    ...(row.query === undefined ? [] : [['Query', membersOf(schemaOf(row.query))] as const]),
    ...(row.request === undefined ? [] : [['Request', membersOf(schemaOf(row.request))] as const]),
    ...(row.reply === undefined ? [] : [['Answer', membersOf(schemaOf(row.reply))] as const]),
  ]
  const filled = parts.filter(([, members]) => members.length > 0)
  if (filled.length === 0) return []
  return [`### ${row.method} \`${row.path}\``, ...filled.map(([title, members]) => table(title, members))]
}

function table(title: string, members: Member[]): string {
  const rows = members.map(({ name, type, optional }) => `| \`${name}\`${optional ? ' ?' : ''} | ${type} |`)
  return [`| ${title} | |\n|---|---|`, ...rows].join('\n')
}

function size(bytes: number): string {
  if (bytes === 0) return ''
  return bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`
}
