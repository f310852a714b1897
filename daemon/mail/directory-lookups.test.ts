/** What a look-up in the directory says of a message: only a complete answer says that its recipient is not listed. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KEY_SET_LIFE_MS } from '../../protocol/identity/keyset.ts'
import { taskReading } from '../control/parts.ts'
import type { SealedMail } from '../hubs/hub.ts'
import type { Interaction } from '../store/threads.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

type Bucket = SealedMail['bucket']
const RATE_LIMITED_MS = 20 * 60_000
const UNSURE = /whether it lists the recipient is not known yet$/
const silent: readonly (readonly [string, Bucket, RegExp])[] = [
  [
    'that cannot be reached',
    () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' })),
    /^hub unreachable/,
  ],
  [
    'whose answer is cut off',
    () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNRESET' })),
    UNSURE,
  ],
  [
    'that refuses for rate',
    () => Promise.reject(refusedWith('rate_limited', {}, RATE_LIMITED_MS)),
    /^the directory takes no questions of this node now;/,
  ],
  ['that calls the question bad', () => Promise.reject(refusedWith('bad_request')), UNSURE],
  [
    'whose answer is incomplete',
    async () => ({ entries: [], partial: true, bits: 0 }),
    /^a hub that the directory asks did not answer it;/,
  ],
]
const absent: Bucket = async () => ({ entries: [], partial: false, bits: 0 })

/** What a person reads of the newest message of a task. */
const shown = (task: Interaction) =>
  taskReading(alice.ctx)
    .views.thread(alice.thread(task.id), { fromTurn: 1, maxChars: undefined })
    .turns.at(-1)?.delivery

/** Each brings a message to the moment at which its recipient is looked up. */
const moments: readonly (readonly [string, () => Promise<Interaction>])[] = [
  ['a first message', async () => alice.delegate(bob)],
  [
    'a message under keys that ran out',
    async () => {
      const task = alice.delegate(bob)
      await world.settle()
      world.pass(KEY_SET_LIFE_MS + 1)
      alice.say(task.id, 'and now?')
      return task
    },
  ],
  [
    'a message that is refused for its stale keys',
    async () => {
      const task = alice.delegate(bob)
      await world.settle()
      alice.say(task.id, 'and now?')
      alice.hub.answers({ ...alice.hub.script, send: () => Promise.reject(refusedWith('kid_stale')) })
      return task
    },
  ],
  [
    'a message whose recipient the hub does not know',
    async () => {
      const task = alice.delegate(bob)
      await world.settle()
      alice.say(task.id, 'and now?')
      alice.hub.answers({ send: () => Promise.reject(refusedWith('recipient_unknown')) })
      return task
    },
  ],
]

describe.each(moments)('%s', (_moment, brought) => {
  test.each(silent)(
    'waits for a directory %s, says so, and goes once it answers',
    async (_, bucket, says) => {
      const task = await brought()
      alice.hub.answers({ ...alice.hub.script, bucket })
      for (let n = 0; n < 6; n++) {
        await alice.send()
        expect(shown(task)).toMatchObject({
          state: 'queued',
          reason: expect.stringMatching(says),
          reason_own: true,
        })
        world.pass(HOUR_MS)
      }
      alice.hub.answers({})
      await bob.rotate()
      await world.settle()
      const [sent] = alice.messages(task.id).slice(-1)
      expect(bob.messages(task.id).at(-1)?.text).toBe(sent?.text)
    },
  )

  test('waits where a complete answer does not list its recipient, and says that', async () => {
    const task = await brought()
    alice.hub.answers({ ...alice.hub.script, bucket: absent })
    await alice.send()
    expect(shown(task)).toMatchObject({
      state: 'queued',
      reason: expect.stringMatching(/^no reachable hub (lists|knows) the recipient/),
      reason_own: true,
    })
  })
})
