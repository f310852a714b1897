// project: programs
/** A start that no restart mends ends with the code that no supervisor starts again, and says what to do. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXIT_CONFIG, EXIT_FAILED } from '../terminal.ts'
import { Impostor, impostures } from '../testing/impostor.ts'
import { PostgresServer, withoutPostgres } from '../testing/postgres-server.ts'
import { runHub } from '../testing/process.ts'

const PASSWORD = 'a password'
const serving = ['serve', '--listen', '127.0.0.1:0']

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a start over a database',
  { timeout: 60_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-hub-setup-'))
    let trusting: PostgresServer
    let asking: PostgresServer
    const fileOf = (name: string, text: string) => {
      const path = join(folder, name)
      writeFileSync(path, text, { mode: 0o600 })
      return path
    }
    const started = async (args: string[], directory = join(folder, 'data')) =>
      await runHub([...serving, '--data-dir', directory, '--files', join(folder, 'files'), ...args])
    const refusal = async (args: string[], directory?: string) => {
      const { code, stderr } = await started(args, directory)
      return [code, stderr]
    }
    const lasting = (what: RegExp) => [EXIT_CONFIG, expect.stringMatching(what)]
    beforeAll(async () => {
      trusting = await PostgresServer.start()
      asking = await PostgresServer.start({ password: PASSWORD })
      const { code } = await runHub([
        ...['init', '--data-dir', join(folder, 'data'), '--files', join(folder, 'files')],
        ...['--store', trusting.url],
      ])
      expect(code).toBe(0)
    }, 60_000)
    afterAll(async () => {
      await trusting.stop()
      await asking.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    test('whom the server does not let in learns which of role, password and name is wrong', async () => {
      const wrong = ['--store-password-file', fileOf('wrong', 'another')]
      expect(await refusal(['--store', asking.url, ...wrong])).toEqual(
        lasting(/refuses the role or its password; look whether .* --store-password-file names holds/),
      )
      expect(await refusal(['--store', asking.url])).toEqual(
        lasting(/asks for a password, and none was given; name a file/),
      )
      const missing = ['--store-password-file', join(folder, 'nowhere')]
      expect(await refusal(['--store', asking.url, ...missing])).toEqual(
        lasting(/nowhere cannot be read: there is no such file; name another file/),
      )
      const stranger = trusting.url.replace('postgres@', 'stranger@')
      expect(await refusal(['--store', stranger])).toEqual(lasting(/has no such role, .*; make it with/))
      const elsewhere = trusting.url.replace('/postgres?', '/elsewhere?')
      expect(await refusal(['--store', elsewhere])).toEqual(
        lasting(/no database of this name; make it with createdb/),
      )
    })

    test('a server that asks for the password itself where anybody could listen is told none', async () => {
      const impostor = await Impostor.start(impostures['the password itself'])
      const store = ['--store', `postgres://svc@127.0.0.1:${impostor.port}/svc`]
      const given = [...store, '--store-password-file', fileOf('right', PASSWORD)]
      const sentence = /asks for the password itself.*set password_encryption = .*auth_type = scram-sha-256/
      expect(await refusal(given)).toEqual(lasting(sentence))
      expect(impostor.said).not.toContain(PASSWORD)
      await impostor.stop()
    })

    test('so does one that the address, the rights or the files of another hub refuse', async () => {
      expect(await refusal(['--store', 'postgres://svc@127.0.0.1/svc?sslmode=prefer'])).toEqual(
        lasting(/sslmode=prefer would let .*; use verify-full/),
      )
      trusting.order('CREATE ROLE guest LOGIN')
      const guest = trusting.url.replace('postgres@', 'guest@')
      expect(await refusal(['--store', guest])).toEqual(
        lasting(/permission denied .*; let the owner of its tables grant that: svc-hub init/),
      )
      const other = join(folder, 'other')
      await runHub(['init', '--data-dir', other])
      expect(await refusal(['--store', trusting.url], other)).toEqual(
        lasting(/hub\.db holds the rows of a hub already; move them first/),
      )
      const empty = join(folder, 'empty')
      expect(await refusal(['--store', trusting.url], empty)).toEqual(
        lasting(/belongs to hub .*lacks identity\.kel, identity\.next, secret; copy/),
      )
      const spoiled = join(folder, 'spoiled')
      mkdirSync(spoiled, { mode: 0o700 })
      for (const name of ['identity.kel', 'identity.next'])
        copyFileSync(join(folder, 'data', name), join(spoiled, name))
      writeFileSync(join(spoiled, 'secret'), `${'0'.repeat(64)}\n`, { mode: 0o600 })
      expect(await refusal(['--store', trusting.url], spoiled)).toEqual(lasting(/holds another secret; name/))
      trusting.order('CREATE DATABASE fresh')
      const fresh = trusting.url.replace('/postgres?', '/fresh?')
      expect(await refusal(['--existing', '--store', fresh], join(folder, 'fresh'))).toEqual(
        lasting(/there is no hub in this database; make one there/),
      )
    })

    test('a database that is away for now is tried again, and the sentence says what to look at', async () => {
      await asking.halt()
      const { code, stderr } = await started(['--store', asking.url])
      await asking.resume()
      expect([code, stderr]).toEqual([
        EXIT_FAILED,
        expect.stringMatching(
          /\nsvc-hub: the database is away: nothing listens there; start its server, or correct host and port in --store\n$/,
        ),
      ])
      const nowhere = await started(['--store', 'postgres://svc@database.invalid/svc'])
      expect([nowhere.code, nowhere.stderr]).toEqual([
        EXIT_FAILED,
        expect.stringMatching(
          /away: (there is no such host|its name could not .*); correct the host in --store/,
        ),
      ])
    })
  },
)

describe('a start over a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-setup-file-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('of a hub whose rows went to a database, or that is not wholly there', async () => {
    const [moved, restoring] = [join(folder, 'moved'), join(folder, 'restoring')]
    for (const [directory, name] of [
      [moved, 'secret'],
      [restoring, 'restoring'],
    ] as const) {
      mkdirSync(directory, { mode: 0o700 })
      writeFileSync(join(directory, name), 'x')
      writeFileSync(join(directory, 'identity.kel'), 'x')
    }
    const refused = await runHub([...serving, '--data-dir', moved])
    expect([refused.code, refused.stderr]).toEqual([
      EXIT_CONFIG,
      expect.stringContaining('name the database'),
    ])
    const unfinished = await runHub([...serving, '--data-dir', restoring])
    expect([unfinished.code, unfinished.stderr]).toEqual([
      EXIT_CONFIG,
      expect.stringContaining('contains an unfinished restore; run it again'),
    ])
  })

  test('in a folder that nobody may write', async () => {
    const { code, stderr } = await runHub([...serving, '--data-dir', '/proc/nope/data'])
    expect([code, stderr]).toEqual([EXIT_CONFIG, expect.stringContaining('cannot write to')])
  })
})
