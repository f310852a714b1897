/** Whoever listens where a database should learns no password, and is not taken for it. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Impostor, impostures } from '../../testing/impostor.ts'
import { StoreDenied } from '../setup-refused.ts'
import { connectTo } from './connections.ts'
import { openLink } from './link.ts'

const PASSWORD = 'never-told'
const hash = createHash('md5').update(`${PASSWORD}svc`).digest('hex')
const salted = createHash('md5').update(`${hash}salt`).digest('hex')

const ways = {
  async connections(url: string) {
    const connections = connectTo(url)
    try {
      await connections.run("INSERT INTO setting VALUES ('a-secret')")
    } finally {
      await connections.close()
    }
  },
  async link(url: string) {
    const link = await openLink(url)
    await link.close()
  },
}

const cases = Object.keys(ways).flatMap(way =>
  Object.keys(impostures).map(what => [way as keyof typeof ways, what as keyof typeof impostures] as const),
)

test.each(cases)('the %s tell nothing to a server that asks for %s', async (way, what) => {
  const impostor = await Impostor.start(impostures[what])
  const refused = ways[way](`postgres://svc:${PASSWORD}@127.0.0.1:${impostor.port}/svc`)
  await expect(refused).rejects.toBeInstanceOf(StoreDenied)
  await expect(refused).rejects.toThrow(/scram-sha-256|another program/)
  await expect(refused).rejects.not.toThrow(PASSWORD)
  expect(impostor.said).toContain('svc')
  expect(impostor.said).not.toMatch(new RegExp(`${PASSWORD}|${salted}|a-secret|LISTEN|BEGIN`))
  await expect.poll(() => impostor.open).toBe(0)
  await impostor.stop()
})

test.each([
  ['the password itself', /asks for the password itself, .*password_encryption = 'scram-sha-256'/],
  ['an MD5 hash of the password', /asks for an MD5 hash of the password, .*auth_type = scram-sha-256/],
  ['nothing', /asks for no password/],
  ['no proof in return', /does not show that it knows the password/],
  ['a proof in return that is wrong', /does not show that it knows the password/],
] as const)('a server that asks for %s is refused with what to do', async (what, sentence) => {
  const impostor = await Impostor.start(impostures[what])
  const refused = ways.link(`postgres://svc:${PASSWORD}@127.0.0.1:${impostor.port}/svc`)
  await expect(refused).rejects.toThrow(sentence)
  await impostor.stop()
})

test('a server is asked for nothing in return where no password is given', async () => {
  const impostor = await Impostor.start(impostures.nothing)
  await expect(ways.link(`postgres://svc@127.0.0.1:${impostor.port}/svc`)).resolves.toBeUndefined()
  await impostor.stop()
})
