// project: programs
/** How the engine gets to a server: encrypted, with a password, and never to one that would lose what it acknowledged. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CuttingProxy } from '../../testing/cutting-proxy.ts'
import { openForTest } from '../../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../../testing/postgres-server.ts'
import { StoreAway, StoreRefused } from '../port.ts'
import { StoreDenied } from '../setup-refused.ts'
import { type ConnectOptions, connectTo } from './connections.ts'
import { openLink } from './link.ts'

const PASSWORD = 'p:w/ @%&'

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'the way to a server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'access-'))
  const [certFile, keyFile, passwordFile] = ['cert', 'key', 'password'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  let server: PostgresServer
  beforeAll(async () => {
    const made = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
    ]
    const names = ['-subj', '/CN=database', '-addext', 'subjectAltName=IP:127.0.0.1']
    execFileSync('openssl', [...made, ...names, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' })
    const tls = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
    server = await PostgresServer.start({ tls, password: PASSWORD })
    writeFileSync(passwordFile, `${PASSWORD}\n`)
  })
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })

  const at = (more: string, { host = '127.0.0.1', user = 'postgres' } = {}) =>
    `postgres://${user}@${host}:${server.port}/postgres${more}`
  const encrypted = (more = '') => at(`?sslmode=verify-full&sslrootcert=${certFile}${more}`)
  const isEncrypted = async (url: string, options: ConnectOptions = { passwordFile }) => {
    const connections = connectTo(url, options)
    try {
      return await connections.one<{ ssl: boolean }>(
        'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
      )
    } finally {
      await connections.close()
    }
  }
  const refusalOf = (url: string, options?: ConnectOptions): Promise<unknown> =>
    isEncrypted(url, options).catch((error: unknown) => error)

  test('a certificate of a named authority is checked, and the connection encrypted', async () => {
    expect(await isEncrypted(encrypted())).toEqual({ ssl: true })
    expect(await isEncrypted(at(''))).toEqual({ ssl: false })
  })

  test('a certificate of nobody, or of another name, is refused in words', async () => {
    const [unknown, other] = [
      await refusalOf(at('?sslmode=verify-full')),
      await refusalOf(at(`?sslmode=verify-full&sslrootcert=${certFile}`, { host: 'localhost' })),
    ]
    expect(unknown).toBeInstanceOf(StoreAway)
    expect(unknown).toMatchObject({
      message: expect.stringMatching(/its certificate is of nobody .* trusts; give .*: \?sslrootcert=FILE$/),
    })
    expect(other).toMatchObject({ message: expect.stringMatching(/its certificate is for another name/) })
  })

  test('a server without TLS is not talked to where it is asked for', async () => {
    const proxy = await CuttingProxy.start(server.socket)
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres?sslmode=verify-full`
    expect(await refusalOf(url)).toMatchObject({
      message: expect.stringMatching(/^the database is away: it speaks no TLS; turn ssl on/),
    })
    await proxy.stop()
  })

  test('the password stands in the address or in a file, which is read again for each connection', async () => {
    const inAddress = at('', { user: `postgres:${encodeURIComponent(PASSWORD)}` })
    expect(await isEncrypted(inAddress, {})).toEqual({ ssl: false })
    const connections = connectTo(encrypted(), { passwordFile, connectionsMax: 1 })
    writeFileSync(passwordFile, 'not-it')
    const refused = await connections.one('SELECT 1').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(StoreAway)
    expect(inspect(refused)).toMatch(/it refuses the role or its password/)
    expect(inspect(refused)).not.toMatch(/not-it|127\.0\.0\.1|postgres:\/\//)
    writeFileSync(passwordFile, '')
    await expect(connections.one('SELECT 1')).rejects.toThrow(/asks for a password, and none was given/)
    writeFileSync(passwordFile, PASSWORD)
    expect(await connections.one('SELECT 1 AS one')).toEqual({ one: 1 })
    await connections.close()
  })

  test.each([
    ['password', /asks for the password itself/],
    ['md5', /asks for an MD5 hash of the password/],
  ])('where it wants to be told by %s, that goes over TLS or a socket alone', async (method, sentence) => {
    const role = `by_${method}`
    server.order(`SET password_encryption = md5; CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`)
    const access = join(server.folder, 'data', 'pg_hba.conf')
    writeFileSync(
      access,
      `local all ${role} ${method}\nhost all ${role} 127.0.0.1/32 ${method}\n${readFileSync(access)}`,
    )
    server.order('SELECT pg_reload_conf()')
    const open = await refusalOf(at('', { user: role }))
    expect(open).toBeInstanceOf(StoreDenied)
    expect(open).toMatchObject({ message: expect.stringMatching(sentence) })
    expect(await isEncrypted(encrypted().replace('postgres@', `${role}@`))).toEqual({ ssl: true })
    const socket = `postgres://${role}@localhost:${server.port}/postgres?host=${server.folder}`
    expect(await isEncrypted(socket)).toEqual({ ssl: false })
  })

  /** Commits wait for a standby that there is not; the server does so soon after it was told. */
  function waitingForNobody(): Disposable {
    const set = (order: string) => {
      server.order(`ALTER SYSTEM ${order}`)
      server.order('SELECT pg_reload_conf()')
    }
    set("SET synchronous_standby_names = 'nobody'")
    return { [Symbol.dispose]: () => set('RESET synchronous_standby_names') }
  }

  test('what its role sets for itself makes no commit weaker, and leads to no other tables', async () => {
    for (const sql of [
      `CREATE ROLE itself LOGIN PASSWORD '${PASSWORD}'`,
      'CREATE SCHEMA other CREATE TABLE word (n integer)',
      'CREATE TABLE public.word (n integer)',
      'GRANT USAGE ON SCHEMA other TO itself; GRANT ALL ON other.word, public.word TO itself',
    ])
      server.order(sql)
    const itself = encrypted().replace('postgres@', 'itself@')
    const before = connectTo(itself, { passwordFile })
    for (const setting of [
      'synchronous_commit = off',
      'search_path = pg_temp, other',
      "default_transaction_isolation = 'repeatable read'",
    ])
      await before.run(`ALTER ROLE itself SET ${setting}`)
    await before.close()
    const after = connectTo(itself, { passwordFile, bounds: { answerMs: 1000 } })
    expect(await after.run('INSERT INTO word VALUES (1)')).toBe(1)
    expect(await after.one('SELECT n FROM word')).toEqual({ n: 1 })
    expect(server.ask('SELECT count(*) FROM public.word')).toBe('1')
    expect(await after.transaction(db => db.one('SHOW transaction_isolation'))).toEqual({
      transaction_isolation: 'read committed',
    })
    const link = await openLink(itself, { passwordFile })
    expect(await link.one('SELECT n FROM word')).toEqual({ n: 1 })
    // nobody confirms: what is answered was not waited for
    using _ = waitingForNobody()
    const isRefused = () => after.run('INSERT INTO word VALUES (2)').then(String, String)
    await expect.poll(isRefused).toMatch(/what was being written may be kept/)
    await expect(link.run('INSERT INTO word VALUES (3)')).rejects.toBeInstanceOf(StoreAway)
    await Promise.all([after.close(), link.close()])
  })

  test('a database that acknowledges what it may lose, or writes no UTF8, refuses the start', async () => {
    server.order('CREATE DATABASE losing')
    server.order('ALTER DATABASE losing SET synchronous_commit = off')
    server.order("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    for (const [name, sentence] of [
      ['losing', /synchronous_commit is off/],
      ['latin', /holds LATIN1/],
    ] as const) {
      const connections = connectTo(encrypted().replace('/postgres?', `/${name}?`), { passwordFile })
      const opened = openForTest(connections)
      await expect(opened).rejects.toBeInstanceOf(StoreRefused)
      await expect(opened).rejects.toThrow(sentence)
      await connections.close()
    }
  })
})
