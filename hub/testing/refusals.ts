/** For tests: what a refusal of wire 3 looks like, whatever its code. */
import { expect } from 'vitest'
import { type CodeRow, codes } from '../../protocol/wire3/codes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import type { Reply } from './hub.ts'

const WAITS = [429, 502, 503, 507]

/** A refusal with this code, its status and sentence, a time to wait where it has one, and its members as given. */
export function expectRefusal(
  reply: Reply,
  code: keyof typeof codes,
  members?: Record<string, unknown>,
): void {
  const row: CodeRow = codes[code]
  expect([reply.status, reply.json['reason']]).toEqual([row.status, code])
  const { reason: _, error, ...rest } = withoutOutcome(reply.json)
  expect(error).toMatch(/^[^;]+; [^;]+$/)
  expect(error).not.toMatch(/undefined|\{|\}/)
  expect(Object.keys(rest).sort()).toEqual([...row.members].sort())
  if (members !== undefined) expect(rest).toEqual(members)
  expect(reply.headers.get(headers.wire)).toBe('3')
  expect(Number(reply.headers.get('Retry-After')) >= 1, 'Retry-After').toBe(WAITS.includes(reply.status))
}

/** What a refusal says beside its code to a client of x402 is held by the tests of those routes. */
function withoutOutcome(json: Record<string, unknown>): Record<string, unknown> {
  const { isValid, invalidReason, success, errorReason, transaction, network, ...rest } = json
  if (isValid === false && invalidReason === json['reason']) return rest
  if (success === false && errorReason === json['reason'] && transaction === '') return rest
  return json
}
