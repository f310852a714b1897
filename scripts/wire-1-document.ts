/** The tables within docs/wire-1.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import { type PaymentReason, paymentReasons } from '../hub/core/ledger/refused.ts'
import { failureOf } from '../hub/v1/payments.ts'
import { refusalRows } from '../hub/v1/refusals.ts'
import { directRefusals, directSend } from '../protocol/contract/direct.ts'
import { LETTER_BYTES_MAX } from '../protocol/contract/letter.ts'
import type { RouteRow } from '../protocol/contract/route.ts'
import { type Failure, failures, fedLabels } from '../protocol/wire1/failures.ts'
import { forwardRecord } from '../protocol/wire1/routes/fed.ts'
import { wire1Routes } from '../protocol/wire1/routes.ts'
import { betweenMarks } from './between-marks.ts'
import { membersSection } from './wire-3-document.ts'

const PAGE = new URL('../docs/wire-1.md', import.meta.url)
const KIB = 1024

/** The page with its tables as the code says them. */
export function wire1Document(): string {
  return betweenMarks(readFileSync(PAGE, 'utf8'), '<!-- tables -->', tables())
}

const rows: RouteRow[] = Object.values(wire1Routes)

function tables(): string {
  return [
    routeTable(),
    failureTable(),
    refusalTable(),
    paymentTable(),
    directTable(),
    '## Members\n\nRequest and answer of every route with JSON. `?` marks a member that may be absent. The members of the record of `/fed/v1/forward` stand at its end.',
    ...rows.flatMap(row => membersSection(row)),
    ...membersSection(directSend),
    ...membersSection({
      method: 'POST',
      path: 'the forward record',
      auth: 'none',
      request: forwardRecord,
      ...NONE,
    }),
  ].join('\n\n')
}

const NONE = { codes: [], limits: { bodyBytes: 0 } } as const

function routeTable(): string {
  return [
    '## Routes\n\nA route with an action is signed by a challenge. Routes marked (own) are no part of the specification.\n',
    '| Method and path | Action | Failures | Body at most |\n|---|---|---|---|',
    ...rows.map(({ method, path, own, action = '', codes, limits }) => {
      const told = [...new Set(codes.map(code => failures[code as Failure]))].sort().join(', ')
      return `| ${method} \`${path}\`${own ? ' (own)' : ''} | ${action} | ${told} | ${size(limits.bodyBytes)} |`
    }),
  ].join('\n')
}

function failureTable(): string {
  return [
    '## Failures\n\nThe statuses of the table above, by kind, and what the routes under `/fed/v1` say in `error`.\n',
    '| Kind | Status | Label under `/fed/v1` |\n|---|---|---|',
    ...Object.entries(failures).map(
      ([kind, status]) => `| ${kind} | ${status} | ${fedLabels[kind as Failure]} |`,
    ),
  ].join('\n')
}

/** By status, as whoever reads a refusal looks it up. */
function refusalTable(): string {
  const refusals = refusalRows().sort((a, b) => failures[a.kind] - failures[b.kind])
  return [
    '## Refusals\n\nWhat the hub says, by its reason. `error` has the sentence, and `detail` under `/fed/v1`. What stands in braces is filled in. A client decides by the status alone.\n',
    '| Reason | Status | Sentence | `hint` |\n|---|---|---|---|',
    ...refusals.map(
      ({ reason, kind, sentence, hint = '' }) => `| ${reason} | ${failures[kind]} | ${sentence} | ${hint} |`,
    ),
  ].join('\n')
}

function paymentTable(): string {
  return [
    '## Reasons of payments\n\nA payment that is not made answers 200 with one of six words as `errorReason`, or as `invalidReason`. `error` has the sentence.\n',
    '| Word | Sentence | What to do |\n|---|---|---|',
    ...Object.entries(paymentReasons).map(
      ([reason, { says, next }]) => `| ${failureOf[reason as PaymentReason]} | ${says} | ${next} |`,
    ),
  ].join('\n')
}

function directTable(): string {
  const { bodyBytes } = directSend.limits
  return [
    `## Answers of direct delivery\n\nA body has ${size(bodyBytes)} at most, and its payload ${size(LETTER_BYTES_MAX)}. Status and \`error\` of a letter that is not taken:\n`,
    '| Status | `error` |\n|---|---|',
    ...Object.values(directRefusals).map(([status, sentence]) => `| ${status} | ${sentence} |`),
  ].join('\n')
}

function size(bytes: number): string {
  if (bytes === 0) return ''
  return bytes >= KIB * KIB ? `${bytes / KIB / KIB} MiB` : `${bytes / KIB} KiB`
}
