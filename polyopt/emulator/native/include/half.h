/* Numbers of 16 bits: kept as bits, computed with as float. */
PE_OWN unsigned short pe_half_bits(float value) { return pe_bits<unsigned short>((_Float16)value); }
PE_OWN float pe_half_value(unsigned short bits) { return (float)pe_bits<_Float16>(bits); }
PE_OWN unsigned short pe_bfloat_bits(float value)
{
    unsigned bits = pe_bits<unsigned>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (unsigned short)(bits >> 16 | 0x40);
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
PE_OWN float pe_bfloat_value(unsigned short bits) { return pe_bits<float>((unsigned)bits << 16); }
