// project: programs

/** A story on the built programs: two people, one hub, every command of the table at least once. */
import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Control, connect } from '../cli/client/control.ts'
import { World } from '../cli/demo/world.ts'
import { processIo } from '../cli/io.ts'

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const LOOK_MS = 50
const LOOKS_MAX = 600

let world: World
let hubUrl: string
let alice: string
let bob: string
type Reply = Record<string, unknown>
type Turn = { text: string; kind: string; mine: boolean; attachments: { name: string; path: string }[] }

const a = (...args: string[]) => world.svc('alice', ...args)
const b = (...args: string[]) => world.svc('bob', ...args)
/** A named pipe that nobody writes to: whoever reads it waits for ever. */
const pipe = () => {
  const path = join(world.root, `pipe-${randomUUID()}`)
  execFileSync('mkfifo', [path])
  return path
}
const fails = async (name: 'alice' | 'bob', ...args: string[]) => {
  const ran = await world.run(programs.svc, args, world.env(name))
  expect(ran.code, ran.stdout).not.toBe(0)
  return ran
}

async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (let i = 0; i < LOOKS_MAX; i++) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await pause(LOOK_MS)
  }
  throw new Error('it did not happen')
}
/** Looks through the control interface, so that waiting starts no process. */
const looksOf = (name: 'alice' | 'bob'): Control =>
  connect({ ...processIo(), env: world.env(name) }, { id: undefined })
const threadOf = (name: 'alice' | 'bob', id: string) => looksOf(name).call('thread', { interaction_id: id })
const stateOf = (name: 'alice' | 'bob', id: string, state: string) =>
  until(async () => {
    const thread = await threadOf(name, id).catch(() => undefined)
    return thread?.state === state ? thread : undefined
  })
const received = (id: string) =>
  until(async () =>
    (await looksOf('bob').call('inbox', { pull: true })).items.find(item => item.interaction_id === id),
  )
const delegate = async (...args: string[]) => String((await a('delegate', ...args))['interaction_id'])

beforeAll(async () => {
  world = new World(programs)
  hubUrl = (await world.startHub()).url
  const [first, second] = await Promise.all([world.startNode('alice'), world.startNode('bob')])
  alice = String(first['aid'])
  bob = String(second['aid'])
})
afterAll(() => world?.[Symbol.asyncDispose]())

describe('joining', () => {
  test('a closed hub names the command for its operator, and takes no admission code', async () => {
    const refused = await fails('alice', 'hub-register', hubUrl)
    expect(refused.stderr).toContain(`svc-hub admit ${alice}`)
    const up = await fails('alice', 'up', '--hub', hubUrl, '--name', 'alice')
    expect(up.stderr).toContain(`svc-hub admit ${alice}`)
    expect(JSON.parse(up.stdout)).toMatchObject({ state: 'running', aid: alice })
    expect((await fails('alice', 'up', '--name', 'alice')).stderr).toContain('--name goes with --hub')
    const token = await fails('alice', 'hub-register', hubUrl, '--token', 'x')
    expect(token.stderr).toContain(`svc-hub admit ${alice}`)
  })

  test('a code lets a new node in with its start, at a hub that seals nothing', async () => {
    const earlier = await world.startHub({}, '127.0.0.1:0', ['--wire', '1'], 'earlier')
    const invite = ['invite', 'new', '--data-dir', world.dir('earlier'), '--json']
    const { code } = JSON.parse((await world.run(programs.hub, invite, world.env('alice'))).stdout)
    const env = { ...world.env('alice'), SVC_HOME: world.dir('carol') }
    const up = async (...args: string[]) =>
      await world.run(programs.svc, ['up', '--hub', earlier.url, ...args], env)
    try {
      const unsaid = await up('--token', code)
      expect(unsaid.stderr).toContain('svc: hub_unsealed:')
      expect(JSON.parse(unsaid.stdout)).toMatchObject({ state: 'running' })
      const { stdout } = await up('--wire', '1', '--token', code, '--name', 'carol')
      expect(JSON.parse(stdout)).toMatchObject({ hub: { status: 'registered', wire: 1, sealed: false } })
      // a hub of wire 3 is sent none, whoever asks
      const sealed = await world.run(programs.svc, ['up', '--hub', hubUrl, '--token', code], env)
      expect(sealed.stderr).toContain('this hub takes no admission codes')
      for (const flag of ['--token', '--wire'])
        expect((await fails('alice', 'up', flag, '1')).stderr).toContain(`${flag} goes with --hub`)
    } finally {
      await world.run(programs.svc, ['stop'], env)
    }
  })

  test('after admit both register; profile, visibility and accept take effect', async () => {
    await world.hub('admit', alice)
    await world.hub('admit', bob)
    expect(await a('hub-register', hubUrl, '--name=alice')).toMatchObject({
      status: 'registered',
      wire: 3,
      sealed: true,
    })
    expect(
      await b(
        'hub-register',
        hubUrl,
        '--name',
        'bob',
        '--caps',
        'text.sum,text.count',
        '--guest-messages',
        '3',
      ),
    ).toMatchObject({ status: 'registered' })
    writeFileSync(join(world.root, 'readme.md'), '# bob sums\n')
    expect(
      await b('profile', 'set', '--summary', 'sums', '--readme', `@${join(world.root, 'readme.md')}`),
    ).toMatchObject({ summary: 'sums', readme: '# bob sums\n' })
    expect(await b('profile', 'show')).toMatchObject({
      summary: 'sums',
      caps: ['text.sum', 'text.count'],
      guest_messages: 3,
    })
    expect(await b('visibility', 'public')).toEqual({ visibility: 'public' })
    expect(await b('accept', 'no')).toEqual({ accept_delegations: false })
    expect(await b('accept', 'Y')).toEqual({ accept_delegations: true })
    expect((await fails('bob', 'visibility', 'everywhere')).stderr).toMatch(/^svc: bad_request/)
    // an error repeats what was said to it without what a terminal obeys
    expect((await fails('bob', 'no\u001b[31msuch\u202e')).stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
  })

  test('find searches text or the capability index, without falling back', async () => {
    for (const args of [['bob'], ['--cap', 'text.sum'], ['--cap=x.y,text.*']]) {
      expect(((await a('find', ...args))['agents'] as { aid: string }[]).map(agent => agent.aid)).toEqual([
        bob,
      ])
    }
    expect((await a('find', '--cap', 'text'))['agents']).toEqual([])
  })
})

describe('strangers and contacts', () => {
  test('a task of a stranger waits; approve takes it, decline refuses it, and the sender reads both', async () => {
    const [first, second] = [await delegate(bob, 'one'), await delegate(bob, 'two')]
    expect((await received(first)).state).toBe('pending')
    expect(await b('approve', first)).toMatchObject({ state: 'open' })
    await received(second)
    await b('decline', second, 'no time')
    expect(await stateOf('alice', second, 'declined')).toMatchObject({
      reason: expect.stringContaining('no time') as string,
    })
  })

  test('a petname stands for an AID, is refused when it is nobody, and the error names agents of the directory', async () => {
    const unknown = await fails('alice', 'delegate', 'bob', 'x')
    expect(unknown.stderr).toContain(bob)
    expect(unknown.stderr).toContain('svc contact add')
    await a('contact', 'add', bob, 'bob')
    await b('contact', 'add', alice, 'alice')
    const third = 'ASy18jRqqquA7ZTombHWfnOypqAR7X9J5mvFSWLmU7eb'
    expect((await fails('alice', 'contact', 'add', third, 'bob')).stderr).toContain('petname_taken')
    expect((await fails('alice', 'contact', 'add', alice, 'me')).stderr).toContain('of this node itself')
    expect((await a('contact', 'ls'))['contacts']).toMatchObject([
      { aid: bob, petname: 'bob', blocked: false },
    ])
    expect((await received(await delegate('bob', 'three'))).state).toBe('open')
  })

  test('cancel withdraws, and the other side is told', async () => {
    const id = await delegate('bob', 'never mind')
    await received(id)
    expect(await a('cancel', id, 'changed my mind')).toMatchObject({ state: 'cancelled' })
    await stateOf('bob', id, 'cancelled')
  })

  test('what a blocked agent sends is refused, it learns so, and its mail goes once the block is lifted', async () => {
    const delivery = async (id: string) => (await threadOf('alice', id)).turns[0]?.delivery
    await b('contact', 'block', 'alice')
    const id = await delegate('bob', 'blocked')
    const refused = await until(async () => {
      const found = await delivery(id)
      return found?.reason?.includes('refuse') ? found : undefined
    })
    expect(refused.state).toBe('queued')
    await b('contact', 'block', 'alice', '--off')
    await until(async () => ['at_hub', 'delivered'].includes((await delivery(id))?.state ?? ''))
    const again = await delegate('bob', 'friends again')
    await until(async () => ['at_hub', 'delivered'].includes((await delivery(again))?.state ?? ''))
  })
})

describe('a task with files', () => {
  let id: string

  test('attachments travel, texts may start with a dash, and pull saves files and documents', async () => {
    const file = join(world.root, 'numbers.txt')
    writeFileSync(file, '1\n2\n3\n')
    id = await delegate('bob', '- sum these', '--attach', file)
    const { turns } = await until(async () => {
      await received(id)
      const found = (await b('thread', id)) as { turns: Turn[] }
      return found.turns[0]?.attachments[0]?.path ? found : undefined
    })
    expect(turns[0]).toMatchObject({ text: '- sum these', mine: false })
    expect(readFileSync(String(turns[0]?.attachments[0]?.path), 'utf8')).toBe('1\n2\n3\n')
    const answer = join(world.root, 'answer.txt')
    writeFileSync(answer, 'It is 6.')
    await b('message', id, '--file', answer)
    const binary = join(world.root, 'picture')
    writeFileSync(binary, Buffer.from([0x89, 0xff, 0x00]))
    expect((await fails('bob', 'message', id, '--file', binary)).stderr).toMatch(
      /not UTF-8 text\nnext: .*--attach/,
    )
    expect((await fails('bob', 'message', id)).stderr).toContain('expected a text')
    expect((await fails('bob', 'message', id, '--attach', '/no/such/file')).stderr).toContain(
      'file_unreadable',
    )
    await until(async () => (await threadOf('alice', id)).turns.some(turn => turn.text === 'It is 6.'))
    const out = join(world.root, 'out')
    mkdirSync(out)
    const { files } = (await b('pull', id, '--out', out)) as { files: { path: string }[] }
    expect(files.some(pulled => readFileSync(pulled.path, 'utf8') === '1\n2\n3\n')).toBe(true)
    const here = await world.run(world.programs.svc, ['pull', id], world.env('bob'), out)
    expect(JSON.parse(here.stdout)).toMatchObject({ out })
    expect((await fails('bob', 'pull', id, '--out', '/proc/x')).stderr).toContain('cannot write to /proc/x')
    expect(await b('status')).toMatchObject({ aid: bob })
  })

  test('end, accept-end, results: there is a receipt', async () => {
    expect((await fails('alice', 'accept-end', id)).stderr).toContain('wrong_state')
    expect((await fails('alice', 'verify', id)).stderr).toContain('no_receipt')
    await a('end', id, 'thanks')
    await until(async () => (await threadOf('bob', id)).actions.includes('accept_end'))
    await b('msg', id, 'one more thing')
    await b('accept-end', id)
    await until(async () => (await threadOf('alice', id)).receipt)
    const items = (await a('results'))['items'] as { interaction_id: string; receipt: Reply }[]
    expect(items.find(item => item.interaction_id === id)?.receipt).toMatchObject({
      verified: true,
      status: 'UNVERIFIED',
    })
    expect((await fails('bob', 'message', id, 'too late')).stderr).toContain('wrong_state')
  })

  test('verify --offline: the receipt and the result are files, which anybody checks without node and hub', async () => {
    const folder = join(world.root, 'shown')
    const kept = (await a('verify', id, '--offline', '--out', folder)) as { files: string[] } & Reply
    const [proof = '', request = '', result = ''] = kept.files
    expect(kept).toMatchObject({
      verdict: 'valid',
      signed_by: ['provider'],
      request_matches: true,
      result_matches: true,
    })
    expect(kept.files).toEqual(['proof', 'request', 'result'].map(name => join(folder, `${name}.json`)))
    expect(await a('verify', id, '--offline', '--out', folder)).toEqual(kept)
    expect((await fails('alice', 'verify', id, '--offline', '--out', '/proc/x')).stderr).toMatch(
      /--out: cannot make the folder \/proc\/x: .*\nnext: name another one/,
    )
    const stranger = async (...args: string[]) => {
      const env = { PATH: process.env['PATH'] ?? '', HOME: world.dir('home') }
      return world.run(programs.svc, ['verify', ...args], env)
    }
    const shown = await stranger('--proof', proof, '--result', result)
    expect([shown.code, JSON.parse(shown.stdout)]).toMatchObject([
      0,
      { verdict: 'valid', interaction_id: id, result_matches: true },
    ])
    for (const words of [[folder], [proof], ['--proof', folder]])
      expect(JSON.parse((await stranger(...words)).stdout)).toMatchObject({ verdict: 'valid', provider: bob })
    expect(JSON.parse((await stranger(folder)).stdout)).toMatchObject({
      request_matches: true,
      result_matches: true,
    })
    writeFileSync(join(folder, 'extra.md'), 'nobody signed this')
    expect(JSON.parse((await stranger(folder)).stdout)).toMatchObject({
      verdict: 'valid',
      files_differ: [],
      files_not_listed: ['extra.md'],
    })
    const forged = join(world.root, 'x\nverdict valid')
    expect((await stranger(forged)).stderr).not.toMatch(/^verdict valid/m)
    const other = await stranger(proof, '--request', result)
    expect([other.code, JSON.parse(other.stdout)]).toMatchObject([
      1,
      { verdict: 'invalid', request_matches: false },
    ])
    expect((await stranger('./none')).stderr).toMatch(
      /none cannot be read: there is no such file\nnext: check the path/,
    )
    writeFileSync(result, `${readFileSync(result, 'utf8')} `)
    expect(JSON.parse((await stranger(folder)).stdout)).toMatchObject({ verdict: 'invalid' })
    const changed = await stranger('--proof', proof, '--result', result)
    expect([changed.code, JSON.parse(changed.stdout)]).toMatchObject([1, { result_matches: false }])
    expect(request).toBe(join(folder, 'request.json'))
    expect(statSync(proof).mode & 0o777).toBe(0o600)
    writeFileSync(proof, '{}')
    expect((await fails('alice', 'verify', id, '--offline', '--out', folder)).stderr).toContain('proof.json')
    const inHome = async () => (await a('verify', id, '--offline')) as { files: string[] }
    const [first, again] = [await inHome(), await inHome()]
    expect(again.files).toEqual(first.files)
    writeFileSync(String(first.files[2]), 'other')
    expect((await inHome()).files[2]).toBe(join(world.root, `proof-${id}-2`, 'result.json'))
    expect((await stranger('--proof', proof, '--kel', 'AAAA')).stderr).toContain(
      '--proof and --kel were both',
    )
    writeFileSync(join(folder, 'large.json'), `{"receipt":"${'A'.repeat(1024 * 1024)}"}`)
    expect((await stranger('--proof', join(folder, 'large.json'))).stderr).toContain('cannot be read')
    writeFileSync(join(folder, 'empty.json'), '[]')
    expect((await stranger('--proof', join(folder, 'empty.json'))).stderr).toMatch(
      /holds no receipt with a key history; svc verify <id> --offline writes such a file/,
    )
    expect((await stranger('--proof', join(folder, 'none.json'))).stderr).toContain('cannot be read')
    expect((await stranger('--offline')).stderr).toContain('--offline goes with an interaction id')
    expect((await stranger('--proof', proof, '--out', folder)).stderr).toContain('--out goes with --offline')
  })

  test('verify: by records, offline with --hub or --kel, and everything that does not fit is exit 1', async () => {
    const verdict = await a('verify', id)
    expect(verdict).toMatchObject({ verdict: 'valid', counter_signed: true, provider: bob })
    const receipt = String(verdict['receipt'])
    await a('pull', id, '--out', join(world.root, 'out'))
    const kel = String(
      (
        (await (
          await fetch(`${hubUrl}/agents/${bob}/kel`, { headers: { 'X-Svc-Wire': '3' } })
        ).json()) as Reply
      )['kel'],
    )
    const other = String(
      (
        (await (
          await fetch(`${hubUrl}/agents/${alice}/kel`, { headers: { 'X-Svc-Wire': '3' } })
        ).json()) as Reply
      )['kel'],
    )
    const offline = async (...args: string[]) => {
      const ran = await world.run(programs.svc, ['verify', '--receipt', receipt, ...args], {
        PATH: process.env['PATH'] ?? '',
        HOME: world.dir('home'),
      })
      return { ...ran, json: ran.stdout === '' ? undefined : (JSON.parse(ran.stdout) as Reply) }
    }
    const unchecked = await offline('--kel', kel)
    expect([unchecked.code, unchecked.json]).toMatchObject([0, { verdict: 'valid', content_checked: false }])
    expect(String(unchecked.json?.['content_says'])).toContain('not checked')
    const wrong = join(world.root, 'wrong.json')
    writeFileSync(wrong, 'other content')
    const mismatch = await offline('--hub', hubUrl, '--result', wrong)
    expect([mismatch.code, mismatch.json]).toMatchObject([1, { verdict: 'invalid', result_matches: false }])
    expect(unchecked.json).toMatchObject({ signed_by: ['provider'] })
    expect(String(unchecked.json?.['says'])).toContain("requester's signature was not shown")
    expect(mismatch.json?.['result_cid']).not.toBe(mismatch.json?.['result_cid_of_file'])
    expect((await offline('--kel', other)).stderr).toContain('the receipt names')
    expect((await offline()).stderr).toContain('--kel BASE64 or --hub URL')
    expect((await offline('--kel', kel, '--hub', hubUrl)).stderr).toContain('--kel and --hub were both given')
    expect((await fails('alice', 'verify', id, '--receipt', receipt)).stderr).toContain('were both given')
    expect((await offline('--kel', kel.slice(0, -40))).stderr).toContain('--kel is cut off or no key history')
    expect((await offline('--kel', kel, '--attestation', 'AAAA')).stderr).toContain('not an attestation')
    expect((await offline('--hub', hubUrl, '--attestation', 'AAAA')).stderr).toContain('not an attestation')
    expect((await offline('--kel', '!')).stderr).toContain('not base64')
    expect((await offline('--kel', kel, '--result', pipe())).stderr).toContain(
      '--result: it is not a regular file',
    )
    expect((await fails('alice', 'message', id, '--file', pipe())).stderr).toContain(
      'it is not a regular file',
    )
    expect((await a('status'))['aid']).toBe(alice)
    const site = createServer((_request, response) =>
      response.writeHead(404, { 'content-type': 'text/html' }).end('<p>no'),
    ).listen(0, '127.0.0.1')
    await new Promise(resolve => site.once('listening', resolve))
    const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    expect((await offline('--hub', address)).stderr).toContain(
      `svc: this is no svc hub: ${address} answers HTTP 404 with text/html`,
    )
    site.close()
    expect((await offline('--hub', 'hub.example')).code).toBe(2)
  })

  test('review keeps the rating; evidence reads by type, from a number, with a limit', async () => {
    expect(await a('review', id, '5', 'quick')).toMatchObject({ rating: 5, uploaded: false })
    expect((await fails('alice', 'review', id, '6')).stderr).toContain('1 to 5')
    const { records } = (await a('evidence', '--type', 'svc.result.accepted')) as {
      records: { seq: number; payload: Reply }[]
    }
    expect(records[0]?.payload).toMatchObject({ interaction_id: id, receipt_verified: true })
    expect((await a('evidence', '--limit', '1'))['records']).toHaveLength(1)
    expect((await fails('alice', 'evidence', '--limit', '1001')).code).toBe(2)
    const all = (await a('evidence', '--limit', '1000'))['records'] as { seq: number; timestamp: number }[]
    const [, , third] = all
    const since = (date: string) => a('evidence', '--since', date, '--limit', '1000')
    const at = new Date(third?.timestamp ?? 0).toISOString()
    const kept = all.filter(({ timestamp }) => timestamp >= (third?.timestamp ?? 0))
    expect((await since(at))['records']).toHaveLength(kept.length)
    expect((await since('2000-01-01'))['records']).toHaveLength(all.length)
    expect((await since('2999-01-01T00:00:00Z'))['records']).toEqual([])
    expect(await fails('alice', 'evidence', '--since', 'yesterday')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected a sequence number or a date for --since'),
    })
    const chain = join(world.root, 'chain.txt')
    const { length } = await a('evidence', 'export', '--out', chain)
    const { heads } = (await b('evidence', 'heads', alice)) as { heads: { head: string; length: number }[] }
    expect(heads[0]?.length).toBeLessThanOrEqual(Number(length))
    expect(await b('verify', '--chain', chain, '--head', heads[0]?.head ?? '')).toMatchObject({
      verdict: 'valid',
      owner: alice,
      length,
      heads: [{ signed_in: 'export' }, { signed_in: 'counter_signature', verdict: 'shown' }],
    })
    expect(await a('capability', 'ls')).toMatchObject({ capabilities: [] })
    expect((await fails('alice', 'capability', 'test', 'no.such')).stderr).toContain('does not serve no.such')
    const page = join(world.root, 'verify.html')
    await a('verify', '--page', page)
    expect(readFileSync(page, 'utf8')).toContain("default-src 'none'")
  })
})

describe('capabilities', () => {
  test('one that nobody serves ends as UNAVAILABLE', async () => {
    const id = await delegate('bob', '--capability', 'text.sum', '--args', '{"of":[1,2]}')
    const thread = await until(async () => {
      const found = (await a('thread', id)) as { turns: Turn[] }
      return found.turns.some(turn => !turn.mine) ? found : undefined
    })
    expect(thread.turns.find(turn => !turn.mine)?.text).toMatch(/this node does not serve \S+\.\S+/)
    expect((await fails('alice', 'delegate', 'bob', '--capability', 'x', '--args', '[]')).stderr).toContain(
      'JSON object',
    )
    expect((await fails('alice', 'delegate', 'bob', 'task', '--capability', 'x')).code).toBe(2)
  })
})

describe('the node', () => {
  test('watch prints events as lines of JSON and ends with the node', async () => {
    const child = spawn(process.execPath, [programs.svc, 'watch'], {
      env: world.env('bob'),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    // It shows what comes from when it listens on, which may take a moment.
    await until(async () => {
      const id = await delegate('bob', 'seen?')
      await pause(500)
      return text.includes(id)
    })
    const lines = text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { id: string; event: string; data: unknown })
    expect(lines.some(line => line.event === 'inbox' && Number(line.id) > 0)).toBe(true)
    expect(text).not.toContain('seen?')
    child.kill()
  })

  test('id: new, ls, use, rm; a name that is none is refused', async () => {
    expect(await a('id', 'new', 'second')).toMatchObject({ state: 'running' })
    const { identities } = (await a('list')) as { identities: { name: string; running: boolean }[] }
    expect(identities.map(({ name, running }) => [name, running])).toEqual([
      ['default', true],
      ['second', true],
    ])
    expect((await a('--id', 'second', 'status'))['aid']).not.toBe(alice)
    expect(await fails('alice', 'id', 'new', '.hidden')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not an identity name'),
    })
    expect((await fails('alice', 'id', 'new', 'default')).stderr).toContain('cannot be created')
    expect((await fails('alice', 'id', 'rm', 'second')).stderr).toContain('svc stop second')
    await a('switch', 'second')
    expect((await a('status'))['data_dir']).toContain('second')
    await a('use', 'default').catch(() => a('id', 'use', 'default'))
    await a('stop', 'second')
    expect(await a('remove', 'second')).toMatchObject({ deleted: false })
    const removed = await a('delete', 'second', '--purge')
    expect(removed).toMatchObject({ deleted: true })
    expect(existsSync(String(removed['data_dir']))).toBe(false)
  })

  test('the next key leaves as a phrase and comes back; without it there is no rotation', async () => {
    const exported = await b('id', 'next', 'export', '--remove', '--yes')
    expect((await fails('bob', 'id', 'rotate')).stderr).toContain('next_key_missing')
    await importPhrase(String(exported['recovery_phrase']))
    expect(await b('id', 'rotate')).toMatchObject({ aid: bob })
  })

  function importPhrase(phrase: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [programs.svc, 'id', 'next', 'import'], {
        env: world.env('bob'),
        stdio: ['pipe', 'ignore', 'inherit'],
      })
      child.once('exit', code => (code === 0 ? resolve() : reject(new Error(`exit ${code}`))))
      child.stdin.end(phrase)
    })
  }

  test('the data directory and what is in it belong to the user alone', () => {
    expect(statSync(world.dir('alice')).mode & 0o777).toBe(0o700)
    for (const file of [
      'identity.kel',
      'identity.next',
      'config.json',
      'control_token.txt',
      'evidence.ael.jsonl',
    ]) {
      expect(statSync(world.dir('alice', file)).mode & 0o777, file).toBe(0o600)
    }
    expect(statSync(world.dir('alice', 'interactions')).mode & 0o777).toBe(0o700)
  })

  test('logs, autoreply, hub-leave, stop; when no node answers the error says where it looked and who runs', async () => {
    expect(
      (await world.run(programs.svc, ['logs', '1'], world.env('bob'))).stdout.trim().split('\n'),
    ).toHaveLength(1)
    expect(await b('autoreply', 'set', '--command', 'cat', '--max-auto-replies', '2')).toMatchObject({
      enabled: true,
      auto_reply: { backend: 'exec', max_auto_replies: 2, api_key_set: false },
    })
    expect(await b('autoreply', 'test', 'is it you?')).toMatchObject({
      backend: 'exec:command',
      answer: expect.stringContaining('is it you?') as string,
    })
    expect(await b('auto-reply', 'off')).toEqual({ enabled: false })
    expect(await b('hub-leave')).toMatchObject({ current: true })
    expect((await b('status'))['hub_url']).toBeNull()
    expect((await b('down'))['stopped']).toHaveLength(1)
    const refused = await fails('bob', 'status')
    expect(refused.stderr).toContain(`data directory ${world.dir('bob')}`)
    expect(refused.stderr).toMatch(
      /if you meant another node of yours that runs:\n {2}SVC_HOME=\S+\/alice (?:npx )?svc --id default status\n/,
    )
  })

  test('id deactivate ends the identity for good', async () => {
    expect((await fails('alice', 'id', 'deactivate')).stderr).toContain('--yes')
    expect((await fails('alice', 'id', 'deactivate', '--yes')).stderr).toMatch(
      /100 credits.*--forfeit-credits/s,
    )
    expect(await a('id', 'deactivate', '--yes', '--forfeit-credits')).toMatchObject({
      aid: alice,
      state: 'deactivated',
    })
    expect((await fails('alice', 'delegate', 'bob', 'x')).stderr).toContain('identity_deactivated')
    await until(async () => {
      const answer = (await (
        await fetch(`${hubUrl}/agents/${alice}/kel`, { headers: { 'X-Svc-Wire': '3' } })
      ).json()) as Reply
      return answer['registered'] === false || undefined
    })
  })
})
