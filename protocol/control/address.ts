/** Where a node answers on its own machine, unless its configuration says another address. */
export const CONTROL_ADDRESS_DEFAULT = '127.0.0.1:39811'
