/** Answers of a hub to a poll, mutated and fed in pieces: a node reads them or refuses them, and keeps no file of them. */
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PollSpool } from '../../daemon/hubs/wire3/poll-spool.ts'
import { Malformed, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { seeded } from '../../protocol/testing/agents.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { type Draw, drawFrom, mutate } from './mutate.ts'

const PIECE_MAX = 200

const random = seeded('poll answers')
const answer = (...sizes: number[]): Uint8Array =>
  utf8(
    JSON.stringify({
      messages: sizes.map((size, id) => ({ id, envelope: toBase64url(random(size)), accepted_at: 5 })),
      more: false,
      key_state_notice_error: 'a "quoted" envelope',
    }),
  )
const real = [answer(), answer(40), answer(300, 7, 0)]

async function* pieces(bytes: Uint8Array, draw: Draw): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + draw(PIECE_MAX)
    yield bytes.subarray(at, end)
    at = end
  }
}

/** The test of so many answers. */
export function testPollAnswers(cases: number): void {
  const first = seed
  test(`${cases} answers to a poll (from ${first}), fed in pieces, are read or refused and leave no file`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-poll-answers-'))
    for (let seed = first; seed < first + cases; seed++) {
      const draw = drawFrom(seed)
      const spool = new PollSpool(folder, length => crypto.getRandomValues(new Uint8Array(length)))
      try {
        parseJson(await spool.read(pieces(mutate(real, draw), draw)))
      } catch (error) {
        if (!(error instanceof Malformed)) throw new Error(`seed ${seed}`, { cause: error })
      }
      spool.discard()
    }
    expect(readdirSync(folder)).toEqual([])
  })
}
