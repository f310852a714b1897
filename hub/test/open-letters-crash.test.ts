// project: programs

/** Open mail and the task board over kill -9: what was answered is there afterwards, and nothing else (wire 1). */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { seed } from '../../protocol/testing/slow.ts'
import { OpenCrash } from '../testing/open-crash.ts'

const ROUNDS = 4
const KILL_WITHIN_MS = 400
const KILL_AFTER_MS = 60

let history: OpenCrash
afterEach(() => history.stop())
const opened = async () => {
  history = await OpenCrash.start(mkdtempSync(join(tmpdir(), 'svc-open-crash-')))
}

test(`loses nothing that was answered at random moments (SEED=${seed})`, async () => {
  await opened()
  for (let round = 0; round < ROUNDS; round++) {
    const afterMs = KILL_AFTER_MS + (((seed % 1_000_000) * (round + 7)) % KILL_WITHIN_MS)
    expect(await history.die({ afterMs }), `seed ${seed}, round ${round}`).toEqual([])
  }
  const { letters, acks, cards, kills } = history.figures
  expect([kills, letters > ROUNDS, acks > 0, cards > 0]).toEqual([ROUNDS, true, true, true])
}, 300_000)

test('the checker finds a letter that was lost', async () => {
  await opened()
  expect(await history.die({ afterMs: KILL_WITHIN_MS })).toEqual([])
  expect((await history.lose()).join()).toMatch(/^letter \S+ was taken and is lost/)
}, 120_000)

test.each([
  'hub.group.before-commit:5',
  'hub.group.after-commit:5',
  'hub.blob.before-rename:2',
  'hub.blob.after-rename:2',
  'hub.relaySend.before-answer:3',
  'hub.relaySend.after-answer:3',
  'hub.relayPoll.before-answer:2',
  'hub.relayAck.before-answer:2',
  'hub.relayAck.after-answer:2',
  'hub.taskCreate.before-answer:2',
  'hub.taskCreate.after-answer:2',
])(
  'takes a repeat after dying at %s as if nothing had happened',
  async fault => {
    await opened()
    expect(await history.die({ fault })).toEqual([])
  },
  120_000,
)
