#!/usr/bin/env node
/**
 * A plant that is not there, as an OPC UA server: `plant.mjs <port> [variant] [encrypt]`. Its target is 75 at most,
 * whatever is written. With `encrypt` it takes the user `engineer` alone, whose password is `secret`.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import certificate from 'node-opcua-certificate-manager'
import client from 'node-opcua-client'
import opcua from 'node-opcua-server'

const { MessageSecurityMode, SecurityPolicy, StatusCodes, Variant } = client

const [port = '4840', variant = 'A1', security = 'none'] = process.argv.slice(2)
const isSecure = security === 'encrypt'
const folder = mkdtempSync(join(tmpdir(), 'svc-plant-'))
const state = { temperature: 61.5, target: 60, pump: false, mode: 'auto' }

const certificates = new certificate.OPCUACertificateManager({
  rootFolder: join(folder, 'pki'),
  automaticallyAcceptUnknownCertificate: true,
})
const server = new opcua.OPCUAServer({
  port: Number(port),
  hostname: '127.0.0.1',
  securityModes: [isSecure ? MessageSecurityMode.SignAndEncrypt : MessageSecurityMode.None],
  securityPolicies: [isSecure ? SecurityPolicy.Basic256Sha256 : SecurityPolicy.None],
  allowAnonymous: !isSecure,
  userManager: { isValidUser: (name, password) => name === 'engineer' && password === 'secret' },
  serverCertificateManager: certificates,
  userCertificateManager: certificates,
})
await server.initialize()
const { addressSpace } = server.engine
const space = addressSpace.getOwnNamespace()
const plant = space.addFolder('ObjectsFolder', { browseName: 'Plant' })

function add(browseName, dataType, { write, status } = {}) {
  const name = browseName.toLowerCase()
  space.addVariable({
    ...{ componentOf: plant, browseName, dataType, nodeId: `s=${browseName}`, minimumSamplingInterval: 50 },
    ...(write === undefined ? { accessLevel: 'CurrentRead', userAccessLevel: 'CurrentRead' } : {}),
    value: {
      get: () => status ?? new Variant({ dataType, value: state[name] }),
      ...(write === undefined
        ? {}
        : {
            set: ({ value }) => {
              state[name] = write(value)
              return StatusCodes.Good
            },
          }),
    },
  })
}
add('Temperature', 'Double')
add('Target', 'Double', variant === 'A1' ? { write: value => Math.min(value, 75) } : {})
add('Pump', 'Boolean', { write: value => value })
add('Mode', 'String', { write: value => value })
add('Broken', 'Double', { status: StatusCodes.BadSensorFailure })
await server.start()
console.log(`opc.tcp://127.0.0.1:${port}`)
