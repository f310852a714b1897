import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { fillUp, hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { delegated, finished, type Lab, never, openPair, texts, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})
afterAll(() => lab.close())

const fileOf = (name: string, text: string) => {
  const path = join(lab.folder, name)
  fs.writeFileSync(path, text)
  return path
}

/** Sends files under names that this node would never give them. */
async function sendAs(id: string, names: string[]): Promise<void> {
  const { attachments } = alice.ctx
  const take = attachments.take.bind(attachments)
  const left = [...names]
  attachments.take = path => ({ ...take(path), name: left.shift() as string }) satisfies Attachment
  const attach = names.map((_, n) => fileOf(`${id}-${n}`, `content ${n}`))
  await alice.handlers.message({ interaction_id: id, text: 'files', attach }, never)
  attachments.take = take
  await until('they arrive', async () => (await texts(bob, id)).includes('files'))
}

const files = async (id: string) =>
  (await thread(bob, id)).turns.flatMap(turn => turn.attachments).map(one => one.name)

describe('names of attachments', () => {
  const hostile: [string, string][] = [
    ['../../.ssh/authorized_keys', 'authorized_keys'],
    ['..', 'attachment'],
    ['/etc/passwd', 'passwd'],
    ['C:\\Windows\\nul.txt', '_nul.txt'],
    ['a\u0000b\u001b[2J.txt', 'ab[2J.txt'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['.profile', 'profile'],
    [`${'n'.repeat(250)}.txt`, `${'n'.repeat(75)}….txt`],
    ['same.txt', 'same.txt'],
    ['same.txt', 'same-2.txt'],
  ]

  test('of a hostile sender stay in the folder that was asked for, and are shown as they are saved', async () => {
    const id = await delegated(alice, bob, 'names')
    const names = hostile.map(([name]) => name)
    await sendAs(id, names)
    expect(await files(id)).toEqual(hostile.map(([, saved]) => saved.replace('-2', '')))
    const out = join(lab.folder, 'names', 'out')
    const before = fs.readdirSync(lab.folder, { recursive: true }).length
    const pulled = await bob.handlers.pull({ interaction_id: id, out }, never)
    const saved = [...hostile.map(([, name]) => name), 'request.json']
    expect(fs.readdirSync(out).sort()).toEqual([...saved].sort())
    expect(pulled.files.map(file => file.path)).toEqual(saved.map(name => join(out, name)))
    expect(fs.readdirSync(lab.folder, { recursive: true })).toHaveLength(before + saved.length + 2)
    for (const [n, [, name]] of hostile.entries())
      expect(fs.readFileSync(join(out, name), 'utf8')).toBe(`content ${n}`)
    await bob.handlers.pull({ interaction_id: id, out }, never)
    expect(fs.readdirSync(out)).toHaveLength(saved.length)
  })

  test.each([
    ['longer than the format takes', 'x'.repeat(300)],
    ['empty', ''],
  ])('that are %s never harm the receiver', async (_what, name) => {
    const id = await delegated(alice, bob, `name ${name.length}`)
    const { attachments } = alice.ctx
    const take = attachments.take.bind(attachments)
    attachments.take = path => ({ ...take(path), name })
    const attach = [fileOf('plain.txt', 'plain')]
    const sent = alice.handlers.message({ interaction_id: id, text: 'odd', attach }, never)
    await sent.catch(() => undefined)
    attachments.take = take
    if (name === '') await until('it arrives', async () => (await files(id)).includes('attachment'))
    await delegated(alice, bob, `after name ${name.length}`)
  })
})

describe('pull', () => {
  test('overwrites nothing and follows no link, neither for attachments nor for the documents', async () => {
    const id = await delegated(alice, bob, 'pull me')
    await sendAs(id, ['notes.json', 'link.txt', 'mine.txt'])
    const out = join(lab.folder, 'pull-out')
    fs.mkdirSync(out)
    const outside = fileOf('outside', 'untouched')
    fs.writeFileSync(join(out, 'mine.txt'), 'of the user')
    fs.symlinkSync(outside, join(out, 'link.txt'))
    fs.writeFileSync(join(out, 'request.json'), 'of the user')
    fs.symlinkSync(join(lab.folder, 'nowhere'), join(out, 'request-2.json'))
    const pulled = await bob.handlers.pull({ interaction_id: id, out }, never)
    expect(pulled.request_file).toBe(join(out, 'request-3.json'))
    const read = (name: string) => fs.readFileSync(join(out, name), 'utf8')
    expect([read('mine.txt'), read('mine-2.txt')]).toEqual(['of the user', 'content 2'])
    expect([read('link.txt'), read('link-2.txt')]).toEqual(['untouched', 'content 1'])
    expect(read('notes.json')).toBe('content 0')
    expect(JSON.parse(read('request-3.json'))).toMatchObject({ task: 'pull me' })
    expect(fs.existsSync(join(lab.folder, 'nowhere'))).toBe(false)
  })

  test.skipIf(!hasSmallDisks)('on a disk without room leaves no folder that it made', () =>
    withSmallDisk(256 * 1024, async disk => {
      const id = await delegated(alice, bob, 'no room')
      fillUp(join(disk, 'ballast'))
      const pulled = bob.handlers.pull({ interaction_id: id, out: join(disk, 'a', 'b') }, never)
      await expect(pulled).rejects.toMatchObject({
        message: expect.stringMatching(/^cannot write .*: the disk is full$/),
        next: expect.stringContaining('on a disk with room'),
      })
      expect(fs.readdirSync(disk)).toEqual(['ballast'])
    }),
  )

  test('gives the names of the signed documents to nothing else, whenever it is called', async () => {
    const id = await delegated(alice, bob, 'what was signed')
    const names = ['result.json', 'request.json', 'RESULT.json', 're\u017fult.json', 'result.json.']
    await sendAs(id, names)
    const out = join(lab.folder, 'signed-out')
    const pull = async () => {
      const { files, request_file, result_file } = await bob.handlers.pull({ interaction_id: id, out }, never)
      return { names: files.map(file => file.path?.slice(out.length + 1)), request_file, result_file }
    }
    const attached = [
      'attached-result.json',
      'attached-request.json',
      'attached-RESULT.json',
      'attached-re\u017fult.json',
      'attached-result-2.json',
    ]
    const request_file = join(out, 'request.json')
    expect(await pull()).toEqual({ names: [...attached, 'request.json'], request_file })
    await bob.handlers.message({ interaction_id: id, text: 'the answer' }, never)
    await finished(alice, bob, id)
    const result_file = join(out, 'result.json')
    expect(await pull()).toEqual({
      names: [...attached, 'request.json', 'result.json'],
      request_file,
      result_file,
    })
    expect(JSON.parse(fs.readFileSync(result_file, 'utf8'))).toEqual({ attachments: [], text: 'the answer' })
  })
})

describe('what may be attached', () => {
  const attach = (path: string) =>
    alice.handlers.delegate({ to: bob.aid, task: 'take it', attach: [path] }, never)

  test('is no file of the node itself, also not under another name, and any other file with two names is', async () => {
    const hidden = join(lab.folder, 'innocent.txt')
    fs.linkSync(join(alice.ctx.dir, 'identity.kel'), hidden)
    await expect(attach(hidden)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: expect.stringContaining('belongs to svc itself'),
    })
    const database = join(lab.folder, 'notes.db')
    fs.linkSync(join(alice.ctx.dir, 'interactions', 'store.db'), database)
    await expect(attach(database)).rejects.toMatchObject({ code: 'file_unreadable' })
    // of another node, whose home this one does not know
    const strangers = bob.ctx.dir
    for (const path of ['identity.kel', 'config.json', 'control_token.txt', 'interactions/store.db'])
      await expect(attach(join(strangers, path))).rejects.toMatchObject({ code: 'file_unreadable' })
    const twice = fileOf('twice.txt', 'two names')
    fs.linkSync(twice, join(lab.folder, 'twice-2.txt'))
    expect(await attach(twice)).toMatchObject({ state: 'queued' })
  })
})

describe('a long thread', () => {
  test('is read a page at a time: the same turns, and no more rows than asked for', async () => {
    const id = await delegated(alice, bob, 'long')
    for (let n = 0; n < 60; n++)
      await alice.handlers.message({ interaction_id: id, text: `line ${n}` }, never)
    const whole = await alice.handlers.thread({ interaction_id: id }, never)
    expect(whole.turns).toHaveLength(61)
    const turns: number[] = []
    for (let from: number | undefined = 1; from !== undefined; ) {
      const page = await alice.handlers.thread({ interaction_id: id, from_turn: from, max_chars: 100 }, never)
      turns.push(...page.turns.map(turn => turn.n))
      from = page.next_turn
    }
    expect(turns).toEqual(whole.turns.map(turn => turn.n))
    const { store } = alice.ctx
    const all = store.all.bind(store)
    let rows = 0
    store.all = ((...given: Parameters<typeof all>) => {
      const found = all(...given)
      if (/FROM messages AS m WHERE interaction/.test(given[0])) rows += found.length
      return found
    }) as typeof store.all
    await alice.handlers.thread({ interaction_id: id, from_turn: 40, max_chars: 10 }, never)
    store.all = all
    expect(rows).toBeLessThan(20)
  })
})
