/** The user and the password of a proxy, in every form in which a machine has them. */
import { expect, test } from 'vitest'
import { proxySecrets, withoutProxySecrets } from './proxy-secrets.ts'

test.each([
  ['https_proxy', 'http://me:a%2Fpassword@proxy:3128', ['a%2Fpassword', 'a/password']],
  ['HTTP_PROXY', 'http://glpat-TOKENasuser@127.0.0.1:3199', ['glpat-TOKENasuser']],
  ['HTTPS_PROXY', 'bob:secretpassw0rd@proxy:3128', ['secretpassw0rd', 'bob:secretpassw0rd']],
  ['HTTPS_PROXY', 'http://bob:half%zz-word@proxy', ['half%zz-word']],
])('%s=%s', (name, value, secrets) => {
  expect(proxySecrets({ [name]: value })).toEqual(expect.arrayContaining(secrets))
  const said = `connect via ${value} failed`
  for (const secret of secrets) expect(withoutProxySecrets(said, { [name]: value })).not.toContain(secret)
})

test('a proxy without either has none', () => {
  expect(proxySecrets({ HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: 'a@b-c-d-e' })).toEqual([])
})
