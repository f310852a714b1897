import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { decode } from '../../protocol/encoding/cbor.ts'
import { ChainRecord } from '../../protocol/proof/evidence.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { type Identity, openIdentity } from '../identity/identity.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { openStore, type Store } from '../store/open.ts'
import { failWrites } from '../testing/failing-store.ts'
import { type Chain, openChain } from './chain.ts'

type Fixture = { dir: string; file: string; store: Store; identity: Identity; chain: Chain }

async function fixture(records: number): Promise<Fixture> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-chain-'))
  const random = (n: number) => crypto.getRandomValues(new Uint8Array(n))
  const identity = openIdentity(dir, { now: Date.now, random })
  const store = openStore(dir)
  const chain = await openChain(dir, store, identity, { now: Date.now, timers: systemTimers })
  for (let i = 0; i < records; i++) chain.append(i % 2 === 0 ? 'test.even' : 'test.odd', { n: i })
  chain.drain()
  return { dir, file: join(dir, 'evidence.ael.jsonl'), store, identity, chain }
}

/** Opens the same directory again, as the next start does. */
async function reopen(of: Fixture): Promise<Chain> {
  of.chain.close()
  return openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers })
}

const lines = (file: string) => readFileSync(file, 'latin1').split('\n').filter(Boolean)

/** Number of records that the checkpoint speaks for. */
function vouchedFor({ store }: Fixture): number {
  const [body] = decode(lasting(store, 'chainCheckpoint') as Uint8Array) as [Uint8Array]
  return (decode(body) as [number])[0]
}

describe('the evidence chain', () => {
  test('records link to the one before, and the file holds one base64 line each', async () => {
    const of = await fixture(3)
    expect(statSync(of.file).mode & 0o777).toBe(0o600)
    const records = of.chain.read()
    expect(records.map(record => record['seq'])).toEqual([0, 1, 2])
    expect(records[1]?.['prev_id']).toBe(records[0]?.['id'])
    expect(of.chain.head()).toMatchObject({ length: 3, state: 'ACTIVE', head_id: records[2]?.['id'] })
    expect(lines(of.file)).toHaveLength(3)
  })

  test.each([1, 2])('%i failures to note what was written do not write it twice', async count => {
    const of = await fixture(3)
    of.chain.append('test.after', {})
    const disk = failWrites(of.store, { from: 1, count })
    for (let n = 0; n < count; n++) expect(() => of.chain.drain()).toThrow('disk is full')
    disk.mend()
    of.chain.append('test.last', {})
    of.chain = await reopen(of)
    expect([of.chain.length, lines(of.file).length]).toEqual([5, 5])
  })

  test('that is empty has length 0, the genesis sentinel as its head and the state ACTIVE', async () => {
    const { chain, identity } = await fixture(0)
    expect(chain.head()).toEqual({
      chain_did: `did:svc:${identity.aid}`,
      head_id: 'bafkreielwmiuzt5h6sruko3bhwelfsu6k4fliuatfr7l2mdrxm6hz7k67i',
      length: 0,
      state: 'ACTIVE',
    })
  })

  test('since keeps seq >= since, the type matches exactly, the limit keeps the newest', async () => {
    const { chain } = await fixture(10)
    expect(chain.read({ since: 7 }).map(record => record['seq'])).toEqual([7, 8, 9])
    expect(chain.read({ eventType: 'test.odd', limit: 2 }).map(record => record['seq'])).toEqual([7, 9])
    expect(chain.read({ eventType: 'test' })).toEqual([])
  })

  test('records signed before a rotation still verify after it', async () => {
    const of = await fixture(2)
    of.identity.rotate()
    of.chain.append('test.after', {})
    expect((await reopen(of)).length).toBe(3)
  })

  test.each([1, 20, 60])('a last line cut by %i bytes is written again from the store', async cut => {
    const of = await fixture(3)
    const whole = readFileSync(of.file)
    truncateSync(of.file, whole.length - cut)
    expect((await reopen(of)).length).toBe(3)
    expect(readFileSync(of.file).equals(whole)).toBe(true)
  })

  test('a last line of rubbish with its newline is written again from the store', async () => {
    const of = await fixture(3)
    const whole = readFileSync(of.file)
    const good = lines(of.file).slice(0, 2)
    writeFileSync(of.file, `${good.join('\n')}\n????\n`)
    await reopen(of)
    expect(readFileSync(of.file).equals(whole)).toBe(true)
  })

  test('records of the store that never were known to reach the file are appended', async () => {
    const of = await fixture(4)
    const whole = readFileSync(of.file)
    of.store.run('UPDATE chain SET drained = 0 WHERE seq >= 1')
    writeFileSync(of.file, `${lines(of.file)[0]}\n`)
    await reopen(of)
    expect(readFileSync(of.file).equals(whole)).toBe(true)
  })

  test('a flipped character in an earlier record is refused by its number', async () => {
    const of = await fixture(4)
    const all = lines(of.file)
    const line = all[1] as string
    all[1] = `${line.slice(0, 90)}${line[90] === 'A' ? 'B' : 'A'}${line.slice(91)}`
    writeFileSync(of.file, `${all.join('\n')}\n`)
    await expect(reopen(of)).rejects.toThrow(/record 1/)
  })

  test('a record taken out of the middle is refused', async () => {
    const of = await fixture(4)
    writeFileSync(of.file, `${lines(of.file).toSpliced(1, 1).join('\n')}\n`)
    await expect(reopen(of)).rejects.toThrow(/record 1/)
  })

  test.each([
    ['at its last line', 2],
    ['at an earlier one', 1],
    ['to nothing', 0],
  ])('a file that was cut %s is completed from the store, which proves the rest', async (_, left) => {
    const of = await fixture(3)
    of.chain.close()
    const whole = readFileSync(of.file)
    const kept = lines(of.file).slice(0, left)
    for (const torn of ['', 'p2F']) {
      writeFileSync(of.file, kept.map(line => `${line}\n`).join('') + torn, 'latin1')
      const chain = await openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers })
      expect([chain.length, chain.cutRecords]).toEqual([3, 3 - left - (torn === '' ? 0 : 1)])
      chain.close()
      expect(readFileSync(of.file).equals(whole)).toBe(true)
    }
  })

  test('a file that was cut is refused where the store does not prove the rest', async () => {
    const of = await fixture(3)
    of.chain.close()
    writeFileSync(of.file, `${lines(of.file)[0]}\n`, 'latin1')
    const row = of.store.get<{ record: Uint8Array }>('SELECT record FROM chain WHERE seq = 2')
    const forged = new Uint8Array(row?.record ?? [])
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1
    of.store.run('UPDATE chain SET record = ? WHERE seq = 2', forged)
    await expect(
      openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers }),
    ).rejects.toThrow('record 2: the copy in the store is damaged')
  })

  test('a file longer than the store is refused with the command that imports', async () => {
    const of = await fixture(3)
    of.store.run('DELETE FROM chain WHERE seq = 2')
    await expect(reopen(of)).rejects.toThrow(/record 2.*svc evidence import/)
  })

  test('a forged record with a good form but another signature is refused', async () => {
    const of = await fixture(2)
    const other = await fixture(2)
    writeFileSync(of.file, readFileSync(other.file))
    await expect(reopen(of)).rejects.toThrow(/record 0/)
  })

  test('rubbish appended after the last record is refused, because the store does not have it', async () => {
    const of = await fixture(2)
    appendFileSync(of.file, 'AAAA')
    await expect(reopen(of)).rejects.toThrow(/record 2.*store does not have it/)
  })

  test('what an earlier open verified is not trusted once a byte of it changed, also outside the id', async () => {
    const of = await fixture(3)
    of.chain = await reopen(of)
    const all = lines(of.file)
    const bytes = Buffer.from(all[1] as string, 'base64')
    const { signature } = ChainRecord.decode(bytes)
    const at = bytes.indexOf(signature) + signature.length - 1
    bytes[at] = (bytes[at] as number) ^ 1
    all[1] = bytes.toString('base64')
    writeFileSync(of.file, `${all.join('\n')}\n`)
    await expect(reopen(of)).rejects.toThrow(/record 1: its signature does not hold/)
  })

  test('nor may what is not signed of a record be altered', async () => {
    const of = await fixture(3)
    of.chain.append('svc.test', { interaction_id: 'AAAAAAAAAAAAAAAAAAAAAA' })
    of.chain = await reopen(of)
    expect(of.chain.read().at(-1)).toMatchObject({ version_minor: 1, corr_id: `${'A'.repeat(22)}==` })
    const all = lines(of.file)
    of.chain.close()
    for (const changes of [{ versionMinor: 2 }, { correlation: new Uint8Array(16).fill(1) }]) {
      const record = ChainRecord.decode(Buffer.from(all.at(-1) as string, 'base64'))
      const line = Buffer.from(ChainRecord.encode({ ...record, ...changes })).toString('base64')
      writeFileSync(of.file, `${[...all.slice(0, -1), line].join('\n')}\n`)
      const opening = openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers })
      await expect(opening).rejects.toThrow(/record 3: what is not signed of it was altered/)
    }
    writeFileSync(of.file, `${all.join('\n')}\n`)
    of.chain = await openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers })
    expect(of.chain.length).toBe(4)
  })

  test('a checkpoint that this identity did not sign is no checkpoint', async () => {
    const of = await fixture(3)
    of.chain = await reopen(of)
    const forged = lasting(of.store, 'chainCheckpoint') as Uint8Array
    forged[forged.length - 1] = (forged.at(-1) as number) ^ 1
    keepLasting(of.store, { chainCheckpoint: forged })
    expect((await reopen(of)).length).toBe(3)
  })

  test('a running node vouches for what it wrote: what it leaves behind needs no signature checked again', async () => {
    const of = await fixture(5)
    of.chain.close()
    expect(vouchedFor(of)).toBe(5)
    expect(
      (await openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers })).length,
    ).toBe(5)
  })

  test('but not for a record that somebody put into the store before it went to the file', async () => {
    const of = await fixture(2)
    const other = await fixture(3)
    const foreign = other.store.get<{ record: Uint8Array }>('SELECT record FROM chain WHERE seq = 2')?.record
    of.store.run(
      "INSERT INTO chain (seq, id, type, record) VALUES (2, ?, 'test.forged', ?)",
      new Uint8Array(36),
      foreign ?? null,
    )
    of.chain.drain()
    of.chain.close()
    expect(vouchedFor(of)).toBe(2)
    await expect(
      openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers }),
    ).rejects.toThrow(/record 2/)
  })

  test('an altered file is refused; moved away, it is written anew from the store, each record verified', async () => {
    const of = await fixture(3)
    of.chain.close()
    const [path, whole] = [of.file, readFileSync(of.file, 'latin1')]
    writeFileSync(path, whole.replace(/^.*\n/, ''), 'latin1')
    const open = () => openChain(of.dir, of.store, of.identity, { now: Date.now, timers: systemTimers })
    await expect(open()).rejects.toThrow(/record 0: .*move it away.*writes it anew/)
    renameSync(path, `${path}.altered`)
    of.chain = await open()
    expect([of.chain.length, of.chain.writtenAgain]).toEqual([3, 3])
    expect(readFileSync(path, 'latin1')).toBe(whole)
    of.chain.close()
    of.chain = await open()
    expect(of.chain.writtenAgain).toBe(0)
  })

  test('the file follows the store by itself, and at the latest when the chain is closed', async () => {
    const of = await fixture(1)
    of.chain.append('test.soon', {})
    expect(lines(of.file)).toHaveLength(1)
    await vi.waitFor(() => expect(lines(of.file)).toHaveLength(2))
    of.chain.append('test.last', {})
    of.chain.close()
    expect(lines(of.file)).toHaveLength(3)
    expect(of.store.get('SELECT 1 FROM chain WHERE drained = 0')).toBeUndefined()
  })

  test('an event of a transaction that fails is in neither store nor file', async () => {
    const of = await fixture(1)
    const work = () =>
      of.store.transaction(() => {
        of.chain.append('test.lost', {})
        throw new Error('stop')
      })
    expect(work).toThrow('stop')
    expect([of.chain.length, lines(of.file).length]).toEqual([1, 1])
  })
})
