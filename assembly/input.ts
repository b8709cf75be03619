/** AssemblyScript: where the caller puts a part of a text. */

export const inputSize: usize = 65536;
export const input = memory.data(65632); // and what may be read beyond
