// project: programs
/** One of a hub's processes runs on a machine whose clock is wrong: it works as the others do, and says so. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultLimits } from '../core/limits.ts'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import type { TestAgent } from '../testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { ask, balanceOf, payment } from '../testing/payments.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'
import { runHub } from '../testing/process.ts'
import { withinAMinute } from '../testing/within-a-minute.ts'

const LIBRARIES = '/usr/lib'
const MINUTE_MS = 60_000
const WORK_MS = 1000
/** A process looks at the clock of the database so often. */
const SEEN_MS = 3000
const HELD = 7

/** The library that shifts the clock of a process, where it is installed. */
const shifter = readdirSync(LIBRARIES)
  .map(name => join(LIBRARIES, name, 'faketime', 'libfaketime.so.1'))
  .find(path => existsSync(path))
const missing =
  withoutPostgres ??
  (shifter === undefined ? 'no faketime here; on Debian: apt-get install faketime' : undefined)

describe.skipIf(missing !== undefined)(
  missing ?? 'a machine whose clock is wrong',
  { timeout: 60_000 },
  () => {
    let cluster: TestCluster
    let right: ClusterProcess
    let history: ClusterHistory
    beforeAll(async () => {
      cluster = await TestCluster.start(1, { env: {} })
      right = cluster.processes[0] as ClusterProcess
    }, 120_000)
    afterAll(() => cluster.close())

    const shifts = () => join(cluster.folder, 'shift')
    const shift = (by: string) => writeFileSync(shifts(), `${by}\n`)
    const shifted = (): Record<string, string> => ({
      LD_PRELOAD: shifter ?? '',
      FAKETIME_TIMESTAMP_FILE: shifts(),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    })
    const addWrong = async (by: string) => {
      shift(by)
      return await cluster.add(undefined, { env: shifted() })
    }
    const polls = async (agent: TestAgent, ats: ClusterProcess[]) => {
      const seen: unknown[] = []
      for (const at of ats) {
        agent.target = at
        const { status, json } = await agent.call('relayPoll', {})
        seen.push(status === 200 ? 200 : json['reason'])
      }
      return seen
    }
    /** Lapses within minutes, by a clock that is right. */
    const hold = async () => {
      const [payer, payee] = [await cluster.agent(right), await cluster.agent(right)]
      const notAfter = Date.now() + 2 * MINUTE_MS
      const { request } = payment(payer, payee, HELD, { notAfter, holdSeconds: 60 })
      expect((await ask(right, 'x402Settle', request)).json['success']).toBe(true)
      return payer
    }
    const heldAt = async (payer: TestAgent, at: ClusterProcess) => {
      payer.target = at
      return (await balanceOf(payer)).held
    }

    for (const by of ['+61m', '-61m']) {
      describe(`by ${by}`, () => {
        let wrong: ClusterProcess
        beforeAll(async () => {
          wrong = await addWrong(by)
        })
        afterAll(() => cluster.end(wrong))

        test('a signer is taken at each, in turn', async () => {
          const agent = await cluster.agent(right)
          expect(await polls(agent, [right, wrong, right, wrong])).toEqual([200, 200, 200, 200])
        })

        test('a hold stays', async () => {
          const payer = await hold()
          expect([await heldAt(payer, wrong), await heldAt(payer, right)]).toEqual([HELD, HELD])
        })

        test('a session that either opened is used at the other, and a share is spent over both', async () => {
          const [sender, recipient] = [await cluster.agent(right), await cluster.agent(right)]
          const opened = await sender.openSession()
          sender.target = wrong
          const sessions = [opened, await sender.openSession()]
          const outcomes: unknown[] = []
          await withinAMinute()
          for (let n = 0; n < 2 * defaultLimits.senderPerMinuteMax; n++) {
            const at = n % 2 === 0 ? right : wrong
            const { json } = await sendEnvelope(at, sealedForStranger(recipient), sessions[(n >> 1) % 2])
            outcomes.push(json['status'] ?? json['reason'])
          }
          expect(outcomes.filter(outcome => outcome === 'queued').length).toBe(
            defaultLimits.senderPerMinuteMax,
          )
          expect(new Set(outcomes)).toEqual(new Set(['queued', 'strangers_busy']))
        })

        test('mail lies in the order of its ids, with a time that is right', async () => {
          const agent = await cluster.agent(right)
          for (const at of [right, wrong, right, wrong])
            await sendEnvelope(at, sealedUnderCapability(agent, agent.capability()))
          const { messages } = await agent.poll()
          const times = messages.map(({ accepted_at }) => Math.abs(accepted_at - Date.now()) < MINUTE_MS)
          expect(times).toEqual([true, true, true, true])
        })

        test('it tells callers the time of the others', async () => {
          const { headers } = await fetch(`${wrong.url}/hub/identity`)
          expect(Math.abs(Date.parse(headers.get('Date') ?? '') - Date.now())).toBeLessThan(MINUTE_MS)
        })

        test('its log and the doctor say so', async () => {
          const line = wrong
            .said()
            .split('\n')
            .find(said => said.includes('the clock of this machine'))
          expect(JSON.parse(line ?? '{}')).toMatchObject({
            level: 'warn',
            mend: expect.stringContaining('set the clock'),
          })
          const { stdout } = await runHub(['doctor', '--data-dir', wrong.directory, ...cluster.args], {
            env: shifted(),
          })
          expect(stdout).toMatch(
            /clocks: this machine's is 36\d{5} ms (ahead of|behind) that of the database/,
          )
        })
      })
    }

    test('a clock that jumps while mail and payments go on changes nothing', async () => {
      const jumping = await addWrong('+0')
      const payer = await hold()
      history = await ClusterHistory.on(cluster)
      await history.during(async () => {
        for (const by of ['+59m', '-59m', '+0']) {
          await pause(WORK_MS)
          shift(by)
          expect(await heldAt(payer, jumping)).toBe(HELD)
        }
        await pause(SEEN_MS)
      })
      expect(await history.compare()).toEqual([])
      expect([await heldAt(payer, jumping), await heldAt(payer, right)]).toEqual([HELD, HELD])
    })
  },
)
