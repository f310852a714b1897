/** Decoders outside the protocol: what strangers, files and operators wrote, as hub and node read it. */

import { splitWords } from '../../autoreply/program.ts'
import { jsonLine, recordOfJsonLine } from '../../daemon/chain/json-lines.ts'
import { Refusal } from '../../hub/core/refusal.ts'
import { decodeBody, decodeQuery } from '../../hub/http/decode.ts'
import { Wire1Refusal } from '../../hub/v1/refusals.ts'
import { readSignedHeaders } from '../../hub/v3/auth.ts'
import { WireRefusal } from '../../hub/v3/refusals.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { operations } from '../../protocol/control/operations.ts'
import { fromHex, utf8 } from '../../protocol/encoding/bytes.ts'
import { decode } from '../../protocol/encoding/cbor.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { ChainRecord } from '../../protocol/proof/evidence.ts'
import { fixture } from '../../protocol/testing/agents.ts'
import type { Failure } from '../../protocol/wire1/failures.ts'
import { wire1Routes } from '../../protocol/wire1/routes.ts'
import type { Code } from '../../protocol/wire3/codes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { reader, type Subject } from './subject.ts'
import * as wire1 from './wire1-samples.ts'
import * as wire3 from './wire3-samples.ts'

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const refused = (error: unknown): boolean =>
  error instanceof Refusal || error instanceof WireRefusal || error instanceof Wire1Refusal

type Samples = { bodies: Record<string, unknown>; queries: Record<string, Record<string, string>> }
type Named = Parameters<typeof decodeBody>[2]

function routeSubjects(
  wire: number,
  rows: Record<string, RouteRow>,
  { bodies, queries }: Samples,
  named: Named,
) {
  const routes = Object.entries(rows)
  const inBodies = routes.filter(([, row]) => row.request !== undefined)
  const inQueries = routes.filter(([, row]) => row.query !== undefined)
  return [
    ...inBodies.map(([name, row]) =>
      reader(
        `body of ${row.method} ${row.path} of wire ${wire}`,
        [utf8(JSON.stringify(bodies[name]))],
        bytes => decodeBody(row, bytes, named),
        refused,
      ),
    ),
    ...inQueries.map(([name, row]) =>
      reader(
        `query of ${row.method} ${row.path} of wire ${wire}`,
        [utf8(new URLSearchParams(queries[name]).toString())],
        bytes => decodeQuery(row, text(bytes)),
        refused,
      ),
    ),
  ]
}

const bothWires = (): Subject[] => [
  ...routeSubjects(3, wire3Routes, wire3, code => new WireRefusal(code as Code)),
  ...routeSubjects(1, wire1Routes, wire1, code => new Wire1Refusal(code as Failure, code)),
]

/** The four headers of a signed request, one a line. */
function headersSubject(): Subject {
  const [request] = fixture<{ requests: { headers: Record<string, string> }[] }>(
    'signed/requests.json',
  ).requests
  const names = [headers.aid, headers.ts, headers.seq, headers.signature]
  const lines = names.map(name => request?.headers[name] ?? '').join('\n')
  const read = (bytes: Uint8Array): unknown => {
    const values = text(bytes).split('\n')
    return readSignedHeaders(Object.fromEntries(names.map((name, i) => [name.toLowerCase(), values[i]])))
  }
  return reader('headers of a signed request', [utf8(lines)], read, refused)
}

/** What programs of this machine ask of the daemon: one body that many operations know. */
const ASKED = '{"to":"b","task":"a","text":"c","limit":1,"attach":["/d"],"args":{"e":[1]},"wait_s":2}'

/** All operations of the control interface in one subject: their bodies share reader and shapes. */
const controlSubject = (): Subject =>
  reader('body of a control operation', [utf8(ASKED), utf8('{}')], bytes => {
    const json = parseJson(bytes)
    for (const row of Object.values(operations) as RouteRow[]) row.request?.safeParse(json)
  })

function nodeSubjects(): Subject[] {
  const { records } = fixture<{ records: { record: string }[] }>('evidence/chain.json')
  const lines = records.map(({ record }) =>
    jsonLine(ChainRecord.read(decode(fromHex(record), { floats: true }), 'chain record')),
  )
  const names = ['report.pdf', '../../.ssh/id', 'a\u202egnp.exe', 'CON', '..', ''].map(utf8)
  return [
    reader('JSON line of a chain', lines.map(utf8), bytes => recordOfJsonLine(text(bytes))),
    reader(
      'name of an attachment',
      names,
      bytes => checkName(fileName(text(bytes))),
      () => false,
    ),
    reader(
      'words of a command line',
      [utf8('claude -p "two words" \\x'), utf8("a 'b c'")],
      bytes => splitWords(text(bytes)),
      error => error instanceof Error && error.name === 'BackendFailed',
    ),
  ]
}

/** A name that stays in its folder on every file system. */
function checkName(name: string): void {
  if (name === '' || name.startsWith('.') || /[/\\\0]/.test(name))
    throw new Error(`leaves its folder: ${name}`)
}

export const programSubjects = (): Subject[] => [
  ...bothWires(),
  headersSubject(),
  controlSubject(),
  ...nodeSubjects(),
]
