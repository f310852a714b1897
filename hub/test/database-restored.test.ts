// project: programs
/** A database that is put back to an earlier time under processes that serve: nothing of the lost time works a second time. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { RESTORED_SETTING } from '../store/ledger-port.ts'
import { connectTo } from '../store/postgres/connections.ts'
import { settingIn } from '../store/postgres/restored.ts'
import { ArchivedServer } from '../testing/archived-server.ts'
import { TestCluster } from '../testing/cluster.ts'
import { isGone } from '../testing/crash-history.ts'
import { MailboxHistory } from '../testing/crash-mailbox.ts'
import { callRoute, random, type TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { balanceOf, payment } from '../testing/payments.ts'
import { PostgresServer, withoutPostgres } from '../testing/postgres-server.ts'
import { runHub, startHubChild } from '../testing/process.ts'

const WORK_MS = 700
const BEAT_MS = 2500
const BACK_MS = 20_000
const SKIPPED = 2 ** 32
/** What loses a time loses what was acknowledged in it, and what was confirmed comes back. */
const OF_LOSS =
  /was acknowledged and is lost|was confirmed and (?:came back|is)|its state is unknown|was done and is|came under two ids|answers come to/

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a database that is put back',
  { timeout: 120_000 },
  () => {
    let archived: ArchivedServer
    let cluster: TestCluster
    beforeEach(async () => {
      archived = await ArchivedServer.start()
      cluster = await TestCluster.start(2, { server: archived.server })
    }, 120_000)
    afterEach(async () => {
      await cluster.close()
      await archived.stop()
    })

    const one = () => {
      const [first] = cluster.processes
      if (first === undefined) throw new Error('no process runs')
      return first
    }
    const said = () => cluster.processes.map(process => process.said()).join('')
    const inSettings = async (name: string) => {
      const connections = connectTo(archived.server.url)
      const value = await settingIn(connections, name)
      await connections.close()
      return value
    }
    const give = async (agent: TestAgent) => {
      const envelope = sealedUnderCapability(agent, agent.capability())
      await expect
        .poll(async () => (await sendEnvelope(one(), envelope)).json['status'], { timeout: BACK_MS })
        .toMatch(/queued|duplicate/)
    }
    /** Somebody sends, and the owner collects, in turn at both processes, whoever is away for a moment. */
    const during = async (box: MailboxHistory, meanwhile: () => Promise<unknown>) => {
      let isOver = false
      const keepOn = async (work: (n: number) => Promise<void>) => {
        for (let n = 0; !isOver; n++)
          await work(n).catch(async error => {
            if (!isGone(error)) throw error
            await pause(20)
          })
      }
      const at = (n: number) => cluster.processes[n % cluster.processes.length] ?? one()
      const working = Promise.all([
        keepOn(n => box.send(at(n))),
        keepOn(n => {
          box.agent.target = at(n)
          return box.collect()
        }),
      ])
      await meanwhile()
      isOver = true
      await working
    }
    const ids = async (agent: TestAgent) => {
      let found: number[] = []
      await expect
        .poll(
          async () => {
            found = (await agent.poll()).messages.map(({ id }) => id)
            return found.length
          },
          { timeout: BACK_MS },
        )
        .toBeGreaterThan(0)
      return found
    }
    const balances = async (...agents: TestAgent[]) => {
      const held: unknown[] = []
      for (const agent of agents) held.push((await balanceOf(agent)).balance)
      return held
    }
    const grant = (agent: TestAgent, amount: number) =>
      orderRunningHub(one().directory, {
        ...{ command: 'grant', aid: agent.aid, amount, reason: 'test' },
        id: toHex(random(16)),
      }).then(answer => expect(answer).toMatchObject({ ok: true }))

    test('gives no id and no name of mail twice, and takes no request again', async () => {
      const box = new MailboxHistory(await cluster.agent(one()))
      const base = archived.backUp()
      await during(box, () => pause(WORK_MS))
      archived.mark('before')
      await during(box, () => pause(2 * WORK_MS))
      const { answered } = box
      await during(box, async () => {
        await archived.putBack(base, 'before')
        await pause(5 * WORK_MS)
      })
      await box.compare(one())
      expect(box.answered).toBeGreaterThan(answered)
      expect(box.faults.filter(fault => !OF_LOSS.test(fault))).toEqual([])
    })

    test('goes on above all numbers that the lost time may have given', async () => {
      const alice = await cluster.agent(one())
      const base = archived.backUp()
      await give(alice)
      archived.mark('before')
      for (let n = 0; n < 3; n++) await give(alice)
      expect(await ids(alice)).toEqual([1, 2, 3, 4])
      const lost = await cluster.agent(one())
      await give(lost)
      await archived.putBack(base, 'before')
      await give(alice)
      expect(await ids(alice)).toEqual([1, SKIPPED + 2])
      const bob = await cluster.agent(one())
      await give(bob)
      const connections = connectTo(archived.server.url)
      const row = await connections.one<{ number: number }>(
        'SELECT number FROM agent WHERE aid = $1',
        bob.aid,
      )
      await connections.close()
      expect(row?.number).toBeGreaterThan(SKIPPED)
      expect(said()).toMatch(/may have lost its latest changes/)
    })

    test('settles nothing again that was signed before', async () => {
      const [alice, bob] = [await cluster.agent(one()), await cluster.agent(one())]
      await grant(alice, 100)
      const had = await balances(alice, bob)
      const base = archived.backUp()
      archived.mark('before')
      const { request } = payment(alice, bob, 40, { notBefore: Date.now() - 1000 })
      expect((await callRoute(one(), 'x402Settle', request)).json['success']).toBe(true)
      await archived.putBack(base, 'before')
      await expect
        .poll(async () => JSON.stringify((await callRoute(one(), 'x402Settle', request)).json), {
          timeout: BACK_MS,
        })
        .toMatch(/before this hub was restored/)
      expect(await balances(alice, bob)).toEqual(had)
      expect(Number(await inSettings(RESTORED_SETTING))).toBeGreaterThan(0)
    })

    test('where a standby had confirmed all of it and all is there, the hub goes on as it was', async () => {
      const receiver = await archived.follow()
      const alice = await cluster.agent(one())
      const base = archived.backUp()
      await give(alice)
      // a beat by which the process knows how far it came
      await pause(BEAT_MS)
      await archived.putBack(base)
      receiver.stop()
      await give(alice)
      expect(await ids(alice)).toEqual([1, SKIPPED + 2])
      expect(await inSettings(RESTORED_SETTING)).toBeUndefined()
      expect(said()).toMatch(/nothing is lost/)
    })

    test('the operator says that it was put back where nothing shows that, while no process serves', async () => {
      const alice = await cluster.agent(one())
      await give(alice)
      const { directory } = one()
      const at = ['--data-dir', directory, ...cluster.args]
      const other = cluster.processes[1]
      if (other !== undefined) await cluster.end(other)
      expect((await runHub(['restore', ...at])).stderr).toMatch(/another svc-hub|a process serves/)
      await cluster.end(one())
      const restored = await runHub(['restore', ...at])
      expect([restored.code, restored.stderr]).toEqual([0, ''])
      const { hub, lost_since, notes } = JSON.parse(restored.stdout)
      expect([hub, Date.parse(lost_since)]).toEqual([alice.target.aid, expect.any(Number)])
      expect(notes.join(' ')).toMatch(/repeat them.*--from-witness/)
      alice.target = await cluster.add(directory)
      await give(alice)
      expect(await ids(alice)).toEqual([1, SKIPPED + 2])
      expect(Number(await inSettings(RESTORED_SETTING))).toBeGreaterThan(0)
    })

    test('its supply chain stands still, the doctor says so, and a witness over a database gives it back', async () => {
      const elsewhere = await PostgresServer.start()
      const watching = ['--data-dir', join(cluster.folder, 'watching'), '--store', elsewhere.url]
      const witness = JSON.parse((await runHub(['init', ...watching])).stdout)['aid'] as string
      const [first, second] = cluster.processes
      if (first === undefined || second === undefined) throw new Error('no process runs')
      const { directory } = first
      const at = ['--data-dir', directory, ...cluster.args]
      const watch = () => runHub(['witness', 'run', first.url, '--once', ...watching])
      const alice = await cluster.agent(first)
      await runHub(['witness', 'add', witness, ...at])
      await grant(alice, 1)
      expect((await watch()).code).toBe(0)
      const base = archived.backUp()
      archived.mark('before')
      await grant(alice, 30)
      expect((await watch()).code).toBe(0)
      const seen = await balances(alice)
      await archived.putBack(base, 'before')
      await expect.poll(said, { timeout: BACK_MS }).toMatch(/may have lost its latest changes/)
      const refused = await runHub(['grant', alice.aid, '1', '--reason', 'x', ...at])
      expect(refused.stderr).toMatch(/stands still since the restore/)
      expect((await watch()).stderr).toMatch(/sign nothing more|nothing is signed/)
      const { findings } = JSON.parse((await runHub(['doctor', '--json', ...at])).stdout)
      expect(findings).toContainEqual(
        expect.objectContaining({
          check: 'supply chain',
          state: 'wrong',
          mend: expect.stringContaining('svc-hub restore --from-witness'),
        }),
      )
      const keeper = await startHubChild(join(cluster.folder, 'watching'), { args: watching.slice(2) })
      const takeBack = () => runHub(['restore', '--from-witness', keeper.url, ...at])
      expect((await takeBack()).stderr).toMatch(/another svc-hub|a process serves/)
      for (const process of [second, first]) await cluster.end(process)
      const taken = await takeBack()
      expect([taken.code, taken.stderr]).toEqual([0, ''])
      expect(JSON.parse(taken.stdout)).toMatchObject({ records: 1 })
      keeper.kill('SIGTERM')
      await keeper.exited
      await elsewhere.stop()
      alice.target = await cluster.add(directory)
      expect(await balances(alice)).toEqual(seen)
    })
  },
)
