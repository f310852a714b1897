/** A session with an OPC UA server, as its settings say: in the clear, or signed and encrypted, and with a user. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import certificate from 'node-opcua-certificate-manager'
import opcua from 'node-opcua-client'

const { MessageSecurityMode, OPCUAClient, SecurityPolicy, UserTokenType } = opcua

/** The settings' word for each mode, and what it takes. */
const MODES = new Map([
  ['none', [MessageSecurityMode.None, SecurityPolicy.None]],
  ['sign', [MessageSecurityMode.Sign, SecurityPolicy.Basic256Sha256]],
  ['encrypt', [MessageSecurityMode.SignAndEncrypt, SecurityPolicy.Basic256Sha256]],
])
/** What the library calls a server whose certificate nobody has trusted. */
const UNTRUSTED = /untrusted/i

/**
 * `certificates`: a folder that stays, with the certificate of this adapter and those of servers; it is needed for every
 * mode but `none`.
 */
export function securityOf({ security = 'none', certificates, username, password }) {
  const mode = MODES.get(security)
  if (mode === undefined)
    throw new Error(`security is ${security}; use one of: ${[...MODES.keys()].join(', ')}`)
  const isSecure = security !== 'none'
  if (isSecure && certificates === undefined)
    throw new Error(`security ${security} needs certificates, a folder that stays`)
  // in the clear a password would be everybody's
  if (!isSecure && username !== undefined) throw new Error('a username needs security sign or encrypt')
  const rootFolder = certificates ?? mkdtempSync(join(tmpdir(), 'svc-opcua-'))
  mkdirSync(rootFolder, { recursive: true, mode: 0o700 })
  const manager = new certificate.OPCUACertificateManager({
    rootFolder,
    automaticallyAcceptUnknownCertificate: false,
  })
  const user =
    username === undefined ? undefined : { type: UserTokenType.UserName, userName: username, password }
  return { mode, manager, user, isSecure, rootFolder }
}

/** `client` disconnects also what is still on its way. */
export function clientFor({ mode: [securityMode, securityPolicy], manager, isSecure }, timeoutMs) {
  return OPCUAClient.create({
    ...{ applicationName: 'svc', securityMode, securityPolicy, endpointMustExist: isSecure },
    ...{ connectionStrategy: { maxRetry: 0 }, keepSessionAlive: false },
    ...{ clientCertificateManager: manager, transportTimeout: timeoutMs },
  })
}

export async function sessionOf(client, endpoint, { user, rootFolder }) {
  try {
    await client.connect(endpoint)
    return await client.createSession(user)
  } catch (error) {
    if (!UNTRUSTED.test(error.message)) throw error
    const [rejected, trusted] = [join(rootFolder, 'rejected'), join(rootFolder, 'trusted', 'certs')]
    throw new Error(
      `one side does not trust the certificate of the other: compare the one of the server in ${rejected} and move it to ${trusted}; the server must trust ${join(rootFolder, 'own', 'certs')}`,
    )
  }
}
